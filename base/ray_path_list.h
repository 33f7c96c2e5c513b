"/site-packages/ray/", "/dist-packages/ray/", "/python/ray/",
