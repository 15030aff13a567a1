"""Files of a run: whole or absent (`atomic`); and the manifest, with what the method declares (`declared`)."""
