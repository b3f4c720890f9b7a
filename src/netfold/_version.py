"""Which version of netfold, or of another package, is installed."""

from __future__ import annotations

__all__ = ["version"]


def version(package: str = "netfold") -> str:
    """As its metadata has it; "unknown" of a package that runs without being installed."""
    from importlib import metadata  # costs more than all else that `import netfold` does

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
