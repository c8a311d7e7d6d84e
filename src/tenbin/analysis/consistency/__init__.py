"""Whether a model answers the same question alike in several languages and modes.

    answers      stored runs → answers by set and language
    alignment    which rows hold the same item → one table for each set
    estimates    tables → agreement, gaps, habits, with their intervals
    report       the records that come out
    examine      joins these

Everything comes from stored runs; no model and no data file is read.
"""
