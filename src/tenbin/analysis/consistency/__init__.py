"""Does a model answer the same question alike in several languages and modes?

    gathering        stored runs → columns of answers, one a language and mode
    alignment_file   what a user says about which rows hold the same item
    matching         columns → tables with one row an item
    measuring        a set's languages → every estimate, as plain values
    modes            choices beside texts, likewise
    examining        joins these: runs → one document

Works on what runs have stored; no model and no data file is read.
"""
