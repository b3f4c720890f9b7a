"""Data sets of a few lines, of every kind, and a catalogue that knows nothing else."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from netfold.studies.datasets import catalogue
from netfold.studies.datasets.catalogue import Dataset

TOYS = {
    "toy": {
        "facts": 'kind = "graph"\nnodes = 5\nedges = 3\nclasses = 2',
        "edges": "source,target,year\n7,3,2015\n3,9,2016\n9,9,2016\n",
        "labels": "node,label\n3,0\n3,1\n7,1\n9,0\n11,1\n5,0\n",
    },
    "arrows": {"facts": 'kind = "graph"\ndirected = true\nnodes = 2', "edges": "source,target\nann,bob\nbob,ann\n"},
    "heavy": {"facts": 'kind = "graph"\nweighted = true\nnodes = 2', "edges": "source,target,weight\n1,2,2.5\n"},
    "triples": {
        "facts": 'kind = "hypergraph"\nnodes = 6\nclasses = 2',
        "hyperedges": "user,film,tag,split\n0,0,1,train\n0,0,1,train\n1,0,0,test\n0,1,0,train\n",
        "test_negatives": "user,film,tag\n1,1,1\n",
        "labels": "film,label\n0,drama\n0,comedy\n1,drama\n",
    },
    "texts": {
        "facts": 'kind = "documents"\nnodes = 4\nclasses = 2',
        "docs": "doc,split,category\n4,test,x\n5,train,x\n6,train,y\n7,train,y\n8,train,x\n",
        "doc_terms": "doc,term,count\n4,0,9\n5,0,2\n5,1,1\n6,1,3\n6,2,1\n7,2,2\n7,0,1\n8,3,1\n",
        "labels": "node,label\n4,x\n5,x\n6,y\n7,y\n8,x\n",
        "terms": 'term,word\n0,"a ""b"", c"\n1,ü\n2,17\n',
    },
}


def written(folder: Path) -> dict[str, Dataset]:
    """The catalogue of the toys, whose files are then in the folder."""
    text = ""
    for name, parts in TOYS.items():
        text += f'\n[{name}]\ntitle = "A title"\norigin = "Ann 1999"\nlicence = "free"\nsources = ["https://a.b"]\n'
        text += f"{parts['facts']}\n[{name}.files]\n"
        (folder / name).mkdir(parents=True)
        for file, content in parts.items():
            if file == "facts":
                continue
            packed = gzip.compress(content.encode(), mtime=0)
            (folder / name / f"{file}.csv.gz").write_bytes(packed)
            columns, digest = content.split("\n")[0], hashlib.sha256(packed).hexdigest()
            text += f'"{file}.csv.gz" = {{ bytes = {len(packed)}, columns = "{columns}", sha256 = "{digest}" }}\n'
    return catalogue.read_catalogue(text)
