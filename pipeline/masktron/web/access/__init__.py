"""Who may ask for what: users of the machine, names of hosts, sessions, tokens, and the headers of answers.

Begin with `gate`, through which every request comes before any page sees it.
"""
