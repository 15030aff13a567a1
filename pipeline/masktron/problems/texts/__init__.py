"""What problems say, by area: what is wrong, and what can be done. `wording` says how they are written."""
