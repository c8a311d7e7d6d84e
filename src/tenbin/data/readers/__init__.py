"""Files to rows: `formats` chooses by suffix, `data_file` reads bytes, lines and checksums."""
