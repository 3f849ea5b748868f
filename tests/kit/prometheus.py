"""Reads a page of metrics as strictly as Prometheus and its promtool do, and says what is wrong with it."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|NaN|[+-]Inf)\Z")
SUFFIXES = ("_bucket", "_count", "_sum")


class Page:
    """`samples`: {(name, ((label, value), …)): value}, `types` and `helps` by name; ValueError for a page that is none."""

    def __init__(self, text):
        self.samples, self.types, self.helps = {}, {}, {}
        self.done, self.family = set(), None
        if not text.endswith("\n"):
            raise ValueError("the last line has no end")
        for number, line in enumerate(text.split("\n")[:-1], 1):
            try:
                self.take(line)
            except ValueError as e:
                raise ValueError(f"line {number}: {e}: {line[:300]}") from None
        self.check_histograms()

    def take(self, line):
        if line.startswith("# HELP "):
            name, _, text = line[7:].partition(" ")
            if name in self.helps:
                raise ValueError("a second HELP")
            self.helps[name] = text
            self.enter(name)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            if name in self.types or any(self.family_of(s) == name for s, _ in self.samples):
                raise ValueError("a second TYPE, or one behind samples")
            if kind not in ("counter", "gauge", "histogram"):
                raise ValueError("no such type")
            self.types[name] = kind
            self.enter(name)
        else:
            self.take_sample(line)

    def enter(self, name):
        """All lines of a metric stand together."""
        if name == self.family:
            return
        if name in self.done:
            raise ValueError("lines of a metric in two places")
        self.done.add(name)
        self.family = name

    def family_of(self, name):
        for suffix in SUFFIXES:
            if name.endswith(suffix) and self.types.get(name[:-len(suffix)]) == "histogram":
                return name[:-len(suffix)]
        return name

    def take_sample(self, line):
        match = SAMPLE.match(line)
        if not match:
            raise ValueError("no sample")
        labels = tuple(sorted(re.findall(LABEL, match.group(2) or "")))
        if len({name for name, _ in labels}) != len(labels):
            raise ValueError("a label twice")
        key = (match.group(1), labels)
        if key in self.samples:
            raise ValueError("a sample twice")
        family = self.family_of(key[0])
        if family not in self.types or family not in self.helps:
            raise ValueError("neither TYPE nor HELP before it")
        self.enter(family)
        value = float(match.group(match.lastindex))
        if self.types[family] == "counter" and value < 0:
            raise ValueError("a counter below 0")
        self.samples[key] = value

    def check_histograms(self):
        series = {}
        for (name, labels), value in self.samples.items():
            family = self.family_of(name)
            if self.types[family] != "histogram":
                continue
            rest = tuple(x for x in labels if x[0] != "le")
            bucket = dict(labels).get("le")
            series.setdefault((family, rest), {})[bucket if name.endswith("_bucket") else name[len(family):]] = value
        for (family, labels), parts in series.items():
            counts = [v for k, v in parts.items() if k not in ("_sum", "_count")]
            if "_sum" not in parts or "+Inf" not in parts or parts.get("_count") != parts["+Inf"] or counts != sorted(counts):
                raise ValueError(f"a histogram that does not add up: {family} {labels}: {parts}")

    def value(self, name, **labels):
        """Of the one sample that has these labels, whatever else it has; None: there is none."""
        found = [v for (n, have), v in self.samples.items() if n == name and labels.items() <= dict(have).items()]
        if len(found) > 1:
            raise ValueError(f"{len(found)} samples of {name} {labels}")
        return found[0] if found else None

    def names(self):
        return set(self.types)
