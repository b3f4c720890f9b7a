"""What tag would this user give this film? A hypergraph of who tagged what, and tuples that it does not have yet."""

import netfold as nf

TASTES = {
    "space": (["ann", "bob", "cid", "dan"], ["Alien", "Solaris", "Moon", "Gravity"], ["lonely", "stars", "robots"]),
    "crime": (["ann", "eva", "fay", "gus"], ["Heat", "Fargo", "Seven", "Zodiac"], ["heist", "snow", "detective"]),
    "music": (["bob", "eva", "hal", "ida"], ["Cabaret", "Once", "Whiplash", "Amadeus"], ["piano", "drums", "songs"]),
}
every = [(u, film, tag) for users, films, tags in TASTES.values() for u in users for film in films for tag in tags]
types = {node: kind for triple in every for node, kind in zip(triple, ("user", "film", "tag"), strict=True)}

liked = nf.Hypergraph.from_tuples([triple for i, triple in enumerate(every) if i % 5], types)  # a fifth is held back
model = nf.DHNE(dim=16, epochs=30).fit(liked, progress=False)
print(liked)

for film in ("Solaris", "Amadeus"):  # Bob likes space and music; one triple of him and each film was held back
    print(f"Bob's next tag for {film}:", model.complete(("bob", film, None), k=3, exclude=liked))
print("Who would call Fargo snowy:", [user for user, _ in model.complete((None, "Fargo", "snow"), k=4)])
for triple in [("ann", "Moon", "stars"), ("ann", "Moon", "piano"), ("gus", "Moon", "stars")]:
    print(triple, *model.score([triple]).round(3))
