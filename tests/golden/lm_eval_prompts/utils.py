"""What the task files beside this one name with `!function`."""


def text(doc):
    return f"{doc['topic'].upper()}: {doc['question']}"


def choices(doc):
    return [f" {option}" for option in doc["options"]]


def target(doc):
    return doc["options"].index(doc["options"][doc["label"]])


def which(doc):
    return doc["label"]


def sentences(doc):
    before = doc["context"].split("_")[0]
    return [before + option for option in doc["options"]]


def rest(doc):
    return doc["context"].split("_")[1].strip()


def shown():
    return [{"question": f"Sample {at}?", "answer": f"sample answer {at}"} for at in range(7)]
