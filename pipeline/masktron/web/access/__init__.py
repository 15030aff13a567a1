"""Who may ask for what: addresses, names of hosts, sessions, tokens, passwords, and the headers of answers.

Begin with `gate`, through which every request comes before any page sees it.
"""
