"""Files of a run beside the data: whole or absent (`atomic`), temporary (`scratch`), and the manifest."""
