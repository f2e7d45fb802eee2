"""What the cells say: targets, lines, ratios - as text and as one page of HTML."""
import configparser
import os
from html import escape

import plots

HERE = os.path.dirname(os.path.abspath(__file__))
LINE_MIN = 0.8                          # of the straight line between its neighbours: a size with less is a cliff

TITLES = {
    "table": "Workloads",
    "sweep": "Sizes of READ and WRITE",
    "commit": "Stable writes and COMMIT",
    "fairness": "Small callers beside one that streams",
    "slow": "Small callers beside a slow client",
    "floods": "Callers beside a client that means harm",
    "scale": "Connections, files, sizes of files",
    "knobs": "Settings",
}
EXPLAINED = {
    "table": "Rate; the server's processor time for an operation (for a GB where data moves in bulk); and that as a "
             "multiple of the ceiling's in the same run.",
    "sweep": f"A size with less than {LINE_MIN:g} of the straight line between its neighbours is a cliff.",
    "commit": "Calls per flush: how many calls one flush of the disk served.",
    "fairness": "The wait of 16 callers with one call each, by themselves and beside one connection that streams. Where "
                "there are two cores, both clients share one: a part of the wait is theirs.",
    "slow": "The same callers beside a client that is behind a slow link and has much outstanding.",
    "floods": "The wait of callers that pause between their calls, by themselves and beside a flood. They go before the "
              "flood on the clients' core, so that the wait is the server's.",
    "scale": "What a call costs with more connections, more files, larger (sparse) files.",
    "knobs": "One setting at a time, all others at their defaults.",
}


def targets():
    config = configparser.ConfigParser()
    with open(os.path.join(HERE, "targets.ini"), encoding="utf-8") as f:
        config.read_file(f)
    return {name: float(value) for name, value in config["multiples of the ceiling"].items()}


def judge(result):
    """Add what follows from the cells: multiples of the ceiling, targets met and missed, cliffs, ratios to idle."""
    cells = result["cells"]
    ceilings = {(c["part"], c["store"], c["row"]): c for c in cells if c["server"] == "ceiling"}
    for cell in cells:
        limit = ceilings.get((cell["part"], cell["store"], cell["row"]), {})
        if cell.get("cost_median") and limit.get("cost_median"):
            cell["x_ceiling"] = cell["cost_median"] / limit["cost_median"]
    result["targets"] = [against_target(name, target, cell, ceilings)
                         for name, target in targets().items() for cell in cells
                         if cell["part"] == "table" and cell["row"] == name and cell["ours"] and cell["store"] == "tmpfs"]
    result["cliffs"] = cliffs(cells)
    for cell in cells:
        idle = next((c for c in cells if c["part"] == cell["part"] and c["store"] == cell["store"] and
                     c["server"] == cell["server"] and c["row"] == cell["about"].get("idle", "idle")), None)
        if idle and idle is not cell and cell.get("p99_us") and idle.get("p99_us"):
            cell["p99_x_idle"] = cell["p99_us"] / idle["p99_us"]


def against_target(name, target, cell, ceilings):
    value = cell.get("x_ceiling")
    limit = ceilings.get(("table", "tmpfs", name), {})
    row = {"workload": name, "server": cell["server"], "target": target, "x_ceiling": value,
           "noisy": value is not None and bool(cell["noisy"] or limit.get("noisy"))}
    if value is None:
        row.update(met=None, verdict="not measured" if limit else "not measured: no ceiling in this run")
    elif value <= target:
        row.update(met=True, verdict="met")
    else:
        row.update(met=False, verdict=f"missed by {value / target - 1:.0%}")
    return row


def sweep_lines(cells, store, server):
    """{line: [(size, MB/s)]} of what was measured."""
    series = {}
    for cell in cells:
        if (cell["part"], cell["store"], cell["server"]) == ("sweep", store, server) and "rate_median" in cell:
            series.setdefault(cell["about"]["line"], []).append((cell["about"]["x"], cell["rate_median"]))
    return {name: sorted(points) for name, points in series.items()}


def noisy_sizes(cells, store, server, line):
    return {c["about"]["x"] for c in cells if c["noisy"] and
            (c["part"], c["store"], c["server"], c["about"].get("line")) == ("sweep", store, server, line)}


def cliffs(cells):
    """Sizes that fall out of line. None where no sizes were measured."""
    found, seen = [], False
    for store, server in dict.fromkeys((c["store"], c["server"]) for c in cells if c["part"] == "sweep"):
        for name, points in sweep_lines(cells, store, server).items():
            seen, doubtful = True, noisy_sizes(cells, store, server, name)
            for (a, ya), (b, yb), (c, yc) in zip(points, points[1:], points[2:]):
                expected = ya + (yc - ya) * (b - a) / (c - a)
                if yb < LINE_MIN * expected:
                    found.append({"store": store, "server": server, "line": name, "size": b, "mb_s": yb,
                                  "of_line": round(yb / expected, 3), "noisy": bool(doubtful & {a, b, c})})
    return found if seen else None


def marks(cell):
    return ("~" if cell["noisy"] else "") + ("*" if cell["client_full"] else "")


def columns(part):
    """Headings and how a cell becomes a row, for the table of a part."""
    common = [("store", lambda c: c["store"]), ("server", lambda c: c["server"]), ("row", lambda c: c["row"]),
              ("rate", lambda c: plots.short(c["rate_median"]) + " " + c["unit"] + marks(c)),
              ("cpu", lambda c: f"{c['cost_median']:.3g} {c['cost_unit']}")]
    more = {
        "table": [("x ceiling", lambda c: f"{c['x_ceiling']:.2f}" if "x_ceiling" in c else "")],
        "commit": [("p99 us", lambda c: f"{c['p99_us']:.0f}"),
                   ("calls/flush", lambda c: f"{c['calls_per_flush']:.1f}" if "calls_per_flush" in c else "")],
        "fairness": [("p50 us", lambda c: f"{c['p50_us']:.0f}"), ("p99 us", lambda c: f"{c['p99_us']:.0f}"),
                     ("x idle", lambda c: f"{c['p99_x_idle']:.2f}" if "p99_x_idle" in c else ""),
                     ("memory", lambda c: f"{c['memory_kb'] // 1024} MiB")],
        "scale": [("p99 us", lambda c: f"{c['p99_us']:.0f}"), ("memory", lambda c: f"{c['memory_kb'] // 1024} MiB")],
        "knobs": [("p99 us", lambda c: f"{c['p99_us']:.0f}"), ("memory", lambda c: f"{c['memory_kb'] // 1024} MiB")],
    }
    more["slow"] = more["floods"] = more["fairness"]
    return common + more.get(part, [])


def table(part, cells):
    """Headings and rows of strings."""
    heads = columns(part)
    body = []
    for cell in cells:
        if "rate_median" in cell:
            body.append([show(cell) for _, show in heads])
        else:
            why = "failed" if cell["failed"] else "skipped"
            body.append([cell["store"], cell["server"], cell["row"], why] + [""] * (len(heads) - 4))
    return [name for name, _ in heads], body


def target_table(result):
    heads = ["workload", "server", "x ceiling", "target", "verdict"]
    return heads, [[t["workload"], t["server"], f"{t['x_ceiling']:.2f}" if t["x_ceiling"] else "", f"{t['target']:g}",
                    t["verdict"] + (", noisy" if t["noisy"] else "")] for t in result["targets"]]


def failures(cells):
    """A line for each reason, with the rows that failed for it."""
    found = {}
    for c in cells:
        if c["failed"]:
            found.setdefault((c["part"], c["store"], c["server"], c["failed"]), []).append(c["row"])
    return [f"failed: {part}, {store}, {server} ({', '.join(names)}): {why}"
            for (part, store, server, why), names in found.items()]


def remarks(result):
    """Everything that a reader must know before he believes a figure."""
    found = list(result["notes"])
    cells = result["cells"]
    noisy = [c for c in cells if c["noisy"]]
    if noisy:
        worst = max((c["other_cores"] for c in noisy), default=0)
        found.append(f"{len(noisy)} of {len(cells)} figures are noisy (~): rounds that differ by more than "
                     f"{result['limits']['spread']:.0%}, or other load on the cores (up to {worst:.2f} of a core)")
    if any(c["client_full"] for c in cells):
        found.append("* the client was busy all the time: the rate is nfsload's; the processor time still is the server's")
    lost = [c for c in cells if c.get("retransmissions")]
    if lost:
        found.append("datagrams were lost, calls sent again: " +
                     "; ".join(f"{c['store']}, {c['server']}, {c['row']} ({c['retransmissions']})" for c in lost))
    if result["rounds"] == 1:
        found.append("one round only: how much figures vary is not known")
    if result["quick"]:
        found.append("--quick: too short for figures that mean something")
    return found + failures(cells)


def verdicts(result):
    """The few sentences at the top."""
    found = []
    judged = [t for t in result["targets"] if t["met"] is not None]
    if judged:
        noisy = sum(t["noisy"] for t in judged)
        found.append(f"{sum(t['met'] for t in judged)} of {len(judged)} targets met" +
                     (f" ({noisy} of these figures are noisy)" if noisy else ""))
    if result["cliffs"] is not None:
        clear = [c for c in result["cliffs"] if not c["noisy"]]
        doubtful = len(result["cliffs"]) - len(clear)
        found.append("sizes: none falls out of line" if not clear else "sizes out of line: " + "; ".join(
            f"{c['line']} {c['size']} on {c['store']} ({c['of_line']:.2f} of the line)" for c in clear))
        if doubtful:
            found.append(f"sizes: {doubtful} more look out of line, but were measured with noise")
    return found


def facts(result):
    m = result["machine"]
    cores = (f"server on {m['server_cores']}, client on {m['client_cores']}" if m["client_cores"]
             else "shared by server and client")
    found = [("processor", f"{m['cpu']}, {m['cores']} cores ({cores})" + (", virtual" if m["hypervisor"] else "")),
             ("memory", m["memory"]), ("system", f"{m['system']}, kernel {m['kernel']}"),
             ("ringnfs", f"{result['ringnfsd']}, {m['commit']}"),
             ("measured", f"{m['started']}, {result['rounds']} rounds of {result['seconds_per_run']:g} s, "
                          f"load before {m['load_before']:.2f}"),
             ("command", " ".join(result["command"]))]
    return found + [(name, f"{s['directory']}: {s['type']} ({s['source']}, {s['options']})")
                    for name, s in m["stores"].items()]


def parts_of(result):
    for part in TITLES:
        cells = [c for c in result["cells"] if c["part"] == part]
        if cells:
            yield part, cells


def text_table(heads, body):
    widths = [max(len(row[i]) for row in [heads, *body]) for i in range(len(heads))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in [heads, *body])


def text(result):
    out = [f"{name:10} {value}" for name, value in facts(result)]
    for part, cells in parts_of(result):
        out += ["", TITLES[part], "", text_table(*table(part, cells))]
    if result["targets"]:
        out += ["", "Targets: processor time as a multiple of the ceiling's", "", text_table(*target_table(result))]
    out += ["", *verdicts(result), *(f"- {r}" for r in remarks(result)), ""]
    return "\n".join(out)


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 60em; margin: 2em auto; padding: 0 1em; }
h1, h2 { font-weight: 600; } h2 { margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { padding: 2px 10px 2px 0; text-align: left; border-bottom: 1px solid #eee; vertical-align: top; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; margin: .5em 0; }
.grid { stroke: #e4e4e4; } .target { stroke: #b00; stroke-width: 2; } .met { color: #276227; } .missed { color: #a02020; }
summary { cursor: pointer; color: #555; } code { font-size: 12px; overflow-wrap: anywhere; }
"""


def html_table(heads, body):
    def row(tag, words):
        return "<tr>" + "".join(f"<{tag}>{escape(w)}</{tag}>" for w in words) + "</tr>"
    return "<table>" + row("th", heads) + "".join(row("td", r) for r in body) + "</table>"


def groups(cells):
    """The cells by store."""
    for store in dict.fromkeys(c["store"] for c in cells):
        yield store, [c for c in cells if c["store"] == store]


def grid(cells, key):
    """Names of servers, and a row for each row of the table: the values of `key`, None where there is none."""
    names = [n for n in dict.fromkeys(c["server"] for c in cells) if n != "ceiling" or key != "x_ceiling"]
    found = {(c["row"], c["server"]): c.get(key) for c in cells}
    return [(row, [found.get((row, n)) for n in names]) for row in dict.fromkeys(c["row"] for c in cells)], names


def plots_of(part, cells):
    """Plots for a part: (caption, SVG)."""
    for store, some in groups(cells):
        if part == "table":
            rows, names = grid(some, "x_ceiling")
            if any(v for _, vs in rows for v in vs):
                yield (f"{store}: processor time as a multiple of the ceiling's, less is better; red: target",
                       plots.bars("multiples of the ceiling", rows, names, targets() if store == "tmpfs" else {}))
        elif part == "sweep":
            for server in dict.fromkeys(c["server"] for c in some):
                series = sweep_lines(some, store, server)
                for kind in "read", "write":
                    chosen = {n: s for n, s in series.items() if n.startswith(kind)}
                    yield f"{server} on {store}: {kind}", plots.lines(kind, chosen, "MB/s")
        elif part == "scale":
            for line in "connections", "files":
                series = {}
                for c in some:
                    if c["about"].get("line") == line and "cost_median" in c:
                        series.setdefault(c["server"], []).append((c["about"]["x"], c["cost_median"]))
                yield (f"{store}: processor time of a call over the number of {line}",
                       plots.lines(line, series, "us/op", str))
        elif part in ("fairness", "slow", "floods"):
            yield f"{store}: 99 of 100 calls are answered within, us", plots.bars("p99", *grid(some, "p99_us"), unit="us")
        elif part == "commit":
            for unit in dict.fromkeys(c["unit"] for c in some):
                rows, names = grid([c for c in some if c["unit"] == unit], "rate_median")
                yield f"{store}: {unit}", plots.bars("rates", rows, names, unit=unit)
        elif part == "knobs":
            for name in dict.fromkeys(c["server"].partition(":")[0] for c in some):
                mine = [c for c in some if c["server"].partition(":")[0] == name and "rate_median" in c]
                if mine:
                    unit = mine[0]["unit"]
                    yield (f"{store}, {mine[0]['row']}: {unit}",
                           plots.bars(name, [(c["server"], [c["rate_median"]]) for c in mine], [name], unit=unit))


def commands(cells):
    """How the figures came about, once for each cell."""
    body = []
    for cell in cells:
        good = next((r for r in cell["rounds"] if "command" in r), None)
        if good:
            rounds = ", ".join(plots.short(r[cell["rate"]]) if cell["rate"] in r else "failed" for r in cell["rounds"])
            body.append([cell["server"], cell["row"], rounds, "; ".join(cell["noisy"]), good["command"]])
    return ("<details><summary>rounds and commands</summary>" +
            html_table(["server", "row", "rounds", "noise", "command"], body) + "</details>")


def html(result):
    """The page: it needs nothing but itself."""
    out = [f"<h1>ringnfs: measured speed</h1>{html_table(['', ''], [[n, str(v)] for n, v in facts(result)])}"]
    out += [f"<p><b>{escape(v)}</b></p>" for v in verdicts(result)]
    if remarks(result):
        out.append("<ul>" + "".join(f"<li>{escape(r)}</li>" for r in remarks(result)) + "</ul>")
    if result["targets"]:
        heads, body = target_table(result)
        out.append("<h2>Targets</h2><p>The server's processor time as a multiple of the ceiling's, on tmpfs.</p>" +
                   html_table(heads, body).replace("<td>met", '<td class="met">met')
                   .replace("<td>missed", '<td class="missed">missed'))
    for part, cells in parts_of(result):
        out.append(f"<h2>{TITLES[part]}</h2><p>{escape(EXPLAINED[part])}</p>")
        out += [f"<p>{escape(caption)}</p>{plot}" for caption, plot in plots_of(part, cells) if plot]
        out.append(f"<details{' open=' + chr(34) * 2 if part != 'sweep' else ''}><summary>figures</summary>" +
                   html_table(*table(part, cells)) + "</details>" + commands(cells))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>ringnfs: measured speed</title>'
            f"<style>{STYLE}</style></head><body>\n" + "\n".join(out) + "\n</body></html>\n")
