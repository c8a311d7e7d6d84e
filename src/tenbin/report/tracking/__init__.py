"""Runs in other programs that keep track of experiments: Weights & Biases and MLflow.

settings        what `--export_args` says, checked
names           names under which scores of different runs line up
content         what a tracker gets of a run: scores, settings, remarks and report, without folders
samples         tables of documents, bounded in number
tracker         the protocol of a tracker, and the one of a name
wandb_tracker, mlflow_tracker      one program each
listener        a run that is tracked while it goes on
stored          a stored run, sent afterwards
"""
