"""The tables that answer a user's question, with the standard columns in the standard order."""
