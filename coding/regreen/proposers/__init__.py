"""Where fixes come from: a script, an offline search, the caller; and one after the other."""
