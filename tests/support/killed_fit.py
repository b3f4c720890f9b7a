"""For torchrun: fit a model to a folder of parts, one rank killing itself at a moment of the first attempt.

killed_fit.py FOLDER CHECKPOINT OUT MOMENT RANK [MODEL]: MOMENT is epoch, written, sealed, renamed or never.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import netfold as nf
from netfold.cluster import checkpoints

_OPTIONS: dict[str, Any] = {"dim": 4, "epochs": 8, "device": "cpu", "seed": 1}


def main() -> None:
    folder, checkpoint, out, moment, rank, *name = sys.argv[1:]
    options = _OPTIONS | ({} if name else {"hidden": (8,)})
    dies = os.environ["RANK"] == rank and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    attempts = Path(f"{checkpoint}.attempts.{os.environ['RANK']}")
    attempts.write_text(attempts.read_text() + "." if attempts.exists() else ".")

    def die() -> None:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    def killing(name: str, before: bool) -> None:
        own = getattr(checkpoints.ShardedCheckpoint, name)
        calls = [0]

        def replaced(self: Any, *args: Any) -> Any:
            calls[0] += 1
            if before and calls[0] == 2:
                die()
            answer = own(self, *args)
            if not before and calls[0] == 2:
                die()
            return answer

        setattr(checkpoints.ShardedCheckpoint, name, replaced)

    if moment in ("written", "sealed", "renamed"):
        names = {"written": ("_written", True), "sealed": ("_written", False), "renamed": ("_made", False)}
        killing(*names[moment])

    def on_epoch(record: dict[str, float]) -> bool:
        if moment == f"epoch {int(record['epoch'])}":
            die()
        return False

    model = nf.MODELS[name[0] if name else "sdne"](**options).fit(
        folder, checkpoint=checkpoint, checkpoint_every=0, progress=False, on_epoch=on_epoch
    )
    model.save(out)


if __name__ == "__main__":
    main()
