"""Files that somebody else wrote or named: which may be read, and how they are opened."""
