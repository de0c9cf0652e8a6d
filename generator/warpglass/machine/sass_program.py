"""Lowers SASS to the machine (in work)."""
