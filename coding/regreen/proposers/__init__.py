"""Where fixes come from: a script, an offline search, the caller; and one after the other."""

NOT_ASKED = "The model could not be asked: "
UNUSABLE = "No usable answer came from the model: "
"""How the words of a proposer begin that had no answer; the cause is the rest of that line."""
