#!/usr/bin/env python3
"""An example agent: reads an investigation on standard input and prints its analysis on standard output.

    tallystick eval run examples/evaluations --agent 'python3 examples/agents/triage.py'

It uses no model. Each rule looks for the traces of one kind of failure in statuses, events, metrics and logs, and
returns a hypothesis with a confidence; the most confident one is the root cause. Rules use the evidence alone: neither
the name of the alert nor the names of objects.

`--exit-codes` judges how a container ended by its exit code alone. That is wrong if another process than the kernel
sent the signal: a worse version to compare with.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

VERSION = "2"
Json = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One explanation: what failed, the confidence in percent, the reasons, the fix, and what to look at next."""

    mode: str
    confidence: int
    title: str
    cause: str
    why: list[str]
    fix: list[str]
    steps: list[str]


class Case:
    """The evidence of an investigation, and functions to search it."""

    def __init__(self, investigation: Json, exit_codes: bool = False) -> None:
        evidence = investigation.get("evidence") or {}
        target = investigation.get("target") or {}
        self.k8s: Json = evidence.get("k8s") or {}
        self.metrics: Json = evidence.get("metrics") or {}
        self.aws: Json = evidence.get("aws") or {}
        self.github: Json = evidence.get("github") or {}
        self.logs: Json = evidence.get("logs") or {}
        self.exit_codes = exit_codes
        self.pod = self.k8s.get("pod_info") or {}
        self.namespace = self.pod.get("namespace") or target.get("namespace") or "default"
        self.name = self.pod.get("name") or target.get("pod") or ""
        status = self.k8s.get("rollout_status") or {}
        self.workload = f"{(status.get('kind') or 'pod').lower()}/{status.get('name') or self.name}"
        self.kubectl = f"kubectl -n {self.namespace}"

    def events(self, reason: str) -> list[str]:
        """Return the messages of every event with this reason, of any object."""
        every = (e for name, found in self.k8s.items() if name.endswith("events") for e in found or [])
        return [event.get("message") or "" for event in every if event.get("reason") == reason]

    def lines(self, pattern: str) -> list[re.Match[str]]:
        """Return every log line that matches a pattern."""
        found = (re.search(pattern, entry.get("message") or "") for entry in self.logs.get("logs") or [])
        return [match for match in found if match]

    def waiting(self) -> tuple[str, str]:
        """Return why a container waits, and the kubelet's message."""
        for status in self.pod.get("container_statuses") or []:
            if state := (status.get("state") or {}).get("waiting"):
                return state.get("reason") or "", state.get("message") or ""
        return "", ""

    def ended(self) -> Json:
        """Return how a container last ended."""
        for status in self.pod.get("container_statuses") or []:
            for state in (status.get("state") or {}, status.get("last_state") or {}):
                if ended := state.get("terminated"):
                    return dict(ended)
        return {}

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed it because of its memory."""
        ended = self.ended()
        return ended.get("exit_code") == 137 if self.exit_codes else ended.get("reason") == "OOMKilled"

    def settings(self) -> dict[str, str]:
        """Return the environment that `kubectl describe` shows."""
        return dict(re.findall(r"^ {6}([A-Z][A-Z0-9_]+): +(\S.*)$", self.k8s.get("pod_describe") or "", re.MULTILINE))

    def limit(self, resource: str) -> str:
        """Return a limit of the pod."""
        limits = (self.pod.get("resource_limits") or {}).values()
        return next((str(each[resource]) for each in limits if resource in each), "")

    def releases(self) -> list[Json]:
        """Return its rollouts, newest first."""
        return sorted(self.k8s.get("rollout_history") or [], key=lambda each: str(each["created_at"]), reverse=True)


def points(series: list[Json] | None) -> list[tuple[float, float]]:
    """Return the first of several series, as times and values."""
    return [(float(at), float(value)) for at, value in series[0]["values"]] if series else []


def peak(series: list[Json] | None) -> float:
    """Return the highest value of the first series."""
    return max((value for _, value in points(series)), default=0.0)


def seconds(text: str) -> float:
    """Convert a time from text to seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def image_pull(case: Case) -> Iterator[Finding]:
    """Explain why an image cannot be pulled: the registry does not have it, or refuses."""
    failures = [message for message in case.events("Failed") if message.startswith("Failed to pull image")]
    if not failures:
        return
    name, said = "".join(re.findall(r'image "([^"]+)"', failures[0])[:1]), failures[0].rsplit(": ", 1)[-1]
    step = f"{case.kubectl} describe pod {case.name}"
    if re.search(r"401|403|[Uu]nauthori[sz]ed|denied|anonymous", failures[0]):
        gone = re.findall(r"pull secrets \(([^)]+)\)", " ".join(case.events("FailedToRetrieveImagePullSecret")))[:1]
        secrets = case.k8s.get("secrets_in_namespace") or []
        others = [each["name"] for each in secrets if each.get("type", "").endswith("dockerconfigjson")]
        secret = gone[0] if gone else "of the pod"
        yield Finding(
            "image_pull", 95, f"Registry authentication fails: the image pull secret {secret} is missing",
            f"The pull secret {secret} is missing, so the registry refuses to hand out {name}: {said}",
            [f"The registry answers: {said}", *(f"The kubelet cannot retrieve {each}" for each in gone)],
            [f"Point the service account's imagePullSecrets at {' or '.join(others) or 'a secret that exists'}"],
            [f"{case.kubectl} get secrets", f"{case.kubectl} get serviceaccount -o yaml", step],
        )  # fmt: skip
    elif re.search(r"not ?found|manifest unknown", failures[0], re.IGNORECASE):
        tag = name.rsplit(":", 1)[-1]
        runs = case.github.get("workflow_runs") or []
        failed = [run for run in runs if run.get("tag") == tag and run.get("conclusion") == "failure"]
        because = f"; its workflow failed at {failed[0]['failed_step']} before the push" if failed else ""
        before = [each["images"][0] for each in case.releases()[1:2]]
        yield Finding(
            "image_pull", 95, f"ImagePullBackOff: the image tag {tag} is not found in the registry",
            f"The tag {tag} of the image does not exist in the registry: {name} is not found{because}",
            [f"The registry answers: {said}"],
            [f"Roll back{' to ' + before[0] if before else ''}: {case.kubectl} rollout undo {case.workload}",
             f"Push the tag {tag} and deploy again"],
            [step, f"{case.kubectl} rollout history {case.workload}"],
        )  # fmt: skip


def missing_key(case: Case) -> Iterator[Finding]:
    """Explain why a container cannot be created: part of its configuration is missing."""
    reason, message = case.waiting()
    found = re.search(r"couldn't find key (\S+) in (Secret|ConfigMap) \S+/(\S+)", message)
    if reason == "CreateContainerConfigError" and found:
        key, kind, name = found.groups()
        objects = (case.k8s.get("secrets_in_namespace") or []) + (case.k8s.get("config_maps") or [])
        keys = next((each.get("keys") or [] for each in objects if each["name"] == name), [])
        has = f"; it has {', '.join(keys)}" if keys else ""
        yield Finding(
            "missing_configuration", 95, f"A {kind.lower()} key is missing: {key} in {name}",
            f"The {kind} {name} has no key {key}{has}, so the container cannot be created",
            [f"{reason}: {message}"],
            [f"Add the key {key} to the {kind} {name}{has}"],
            [f"{case.kubectl} describe {kind.lower()} {name}"],
        )  # fmt: skip


def out_of_memory(case: Case) -> Iterator[Finding]:
    """Find a container that the kernel killed at its memory limit."""
    if not case.out_of_memory():
        return
    limit, most = case.limit("memory"), peak((case.metrics.get("memory_metrics") or {}).get("memory_usage_bytes"))
    unbounded = [name for name, value in case.settings().items() if "MAX" in name and value in {"0", "-1"}]
    double = re.sub(r"^\d+", lambda number: str(2 * int(number[0])), limit)
    yield Finding(
        "oom_killed", 95, f"OOMKilled: the container needs more memory than its limit of {limit}",
        f"The container is OOMKilled: it reaches its memory limit of {limit}"
        + "".join(f"; {name}=0 sets no bound" for name in unbounded),
        [f"It ended with exit code {case.ended().get('exit_code')}", f"Its memory reached {most / 2**20:.0f} MiB"],
        [f"Raise the memory limit: {case.kubectl} set resources {case.workload} --limits=memory={double}",
         *(f"Give {name} a bound" for name in unbounded)],
        [f"{case.kubectl} describe pod {case.name}", f"{case.kubectl} top pod {case.name} --containers"],
    )  # fmt: skip


def liveness(case: Case) -> Iterator[Finding]:
    """Find a container that the kubelet restarts because its liveness probe fails."""
    failures = [message for message in case.events("Unhealthy") if message.startswith("Liveness probe failed")]
    if not failures:
        return
    killed = any("failed liveness probe" in message for message in case.events("Killing"))
    confidence = 20 if case.out_of_memory() or not killed else 90
    asked = re.findall(r"liveness: +(\S.*)", case.k8s.get("pod_describe") or "", re.IGNORECASE)[:1]
    probe = asked[0] if asked else "the probe"
    steps = [f"{case.kubectl} describe pod {case.name}", f"{case.kubectl} logs {case.name} --previous"]
    mode = "liveness_probe"
    port = re.search(r":(\d+): connect: connection refused", failures[0])
    if port:
        listens = sorted({match[1] for match in case.lines(r"listening.*:(\d+)")})
        where = f"the process listens on {', '.join(listens)}" if listens else "nothing listens there"
        yield Finding(
            mode, confidence, f"The liveness probe asks the wrong port: {port[1]}",
            f"The liveness probe asks port {port[1]} and its connection is refused; {where}",
            [failures[0], probe],
            [f"Change the port of the liveness probe to {' or '.join(listens) or 'the one that is served'}"], steps,
        )  # fmt: skip
    else:
        yield Finding(
            mode, confidence, "The liveness probe is too tight: it times out during startup",
            f"The liveness probe times out and restarts the container before it has started ({probe})",
            [failures[0], f"It ended with reason {case.ended().get('reason')}"],
            ["Add a startupProbe that allows for the slowest start", "Raise the probe's timeoutSeconds"], steps,
        )  # fmt: skip


def crash(case: Case) -> Iterator[Finding]:
    """Find a process that ended by itself, and the reason in its log."""
    ended = case.ended()
    if ended.get("exit_code") in {None, 0, 137, 143}:
        return
    last, code = f"{case.kubectl} logs {case.name} --previous", ended["exit_code"]
    for unset in case.lines(r"(?:ERROR|FATAL|error|panic|Error).*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\bnot set\b")[-1:]:
        maps = case.k8s.get("config_maps") or []
        used = {name for each in case.releases()[:1] for name in each.get("env_from") or []}
        lacks = [each["name"] for each in maps if each["name"] in used and unset[1] not in each["keys"]]
        where = f" in the ConfigMap {lacks[0]}" if lacks else ""
        yield Finding(
            "missing_configuration", 95, f"Missing configuration: {unset[1]} is not set",
            f"The setting {unset[1]} is missing{where}, and the process exits with code {code} without it",
            [unset[0]],
            [f"Add {unset[1]} to the ConfigMap {lacks[0] if lacks else 'or the environment'}",
             f"{case.kubectl} rollout undo {case.workload}"], [last],
        )  # fmt: skip
    for denied in case.lines(r"(?i)error.*\b(403|access ?denied|permission denied|forbidden)\b.*")[:1]:
        yield access_denied(case, denied[0], code)


def access_denied(case: Case, said: str, code: int) -> Finding:
    """Find what a policy denies to whom, if its text was captured."""
    role = (case.aws.get("metadata") or {}).get("iam_role_info") or {}
    bucket = re.search(r"s3://([a-z0-9.-]+)", said)
    policies = {
        each["policy_name"]: resource
        for each in role.get("policies") or []
        for statement in each["document"]["Statement"]
        for resource in statement["Resource"]
    }
    lacks = [(name, to) for name, to in policies.items() if bucket and f":{bucket[1]}/" not in to]
    because = "".join(f"; the policy {name} allows {to} alone" for name, to in lacks)
    return Finding(
        "access_denied", 90, f"Access denied{': the IAM policy names another bucket' if lacks else ''}",
        f"Access denied: the process ends with code {code}, because it may not write"
        f"{' to ' + bucket[1] if bucket else ''}{because}",
        [said],
        [f"Add arn:aws:s3:::{bucket[1]}/* to the policy {name}: aws iam put-role-policy" for name, _ in lacks if bucket]
        or ["Give its role the permission that it lacks"],
        [f"{case.kubectl} logs {case.name}", *(f"aws iam get-role-policy --policy-name {name}" for name, _ in lacks)],
    )  # fmt: skip


def throttling(case: Case) -> Iterator[Finding]:
    """Find a container that is throttled at its CPU limit."""
    share = peak((case.metrics.get("throttling_data") or {}).get("throttling_percentage"))
    cpu = case.metrics.get("cpu_metrics") or {}
    used, limit = peak(cpu.get("cpu_usage")), peak(cpu.get("cpu_limits"))
    if share >= 25 and limit and used >= 0.85 * limit:
        yield Finding(
            "cpu_throttling", 90, "CPU throttling: the CPU limit is too low for the load",
            f"The container is throttled in {share:.0f}% of its periods: it is at its CPU limit of {limit:g} cores",
            [f"It uses {used:.2f} of {limit:g} cores", f"{share:.0f}% of its periods are throttled"],
            [f"Raise the CPU limit: {case.kubectl} set resources {case.workload} --limits=cpu={2 * limit:g}",
             "Let a HorizontalPodAutoscaler add replicas"],
            [f"{case.kubectl} top pod {case.name}",
             "promql: rate(container_cpu_cfs_throttled_periods_total[5m]) / rate(container_cpu_cfs_periods_total[5m])"],
        )  # fmt: skip


def server_errors(case: Case) -> Iterator[Finding]:
    """Explain failing requests: a release, or an exhausted resource."""
    rates = points((case.metrics.get("http_5xx") or {}).get("series"))
    usual = sorted(value for _, value in rates)[len(rates) // 5] if rates else 0.0
    began = next((at for at, value in rates if value > 10 * usual + 0.1), None)
    if began is None:
        return
    errors = Counter(match[1] for match in case.lines(r'(?:ERROR|error).*?err(?:or)?="([^"]+)"')).most_common(1)
    said = errors[0][0] if errors else "no error in the log"
    steps = [f"{case.kubectl} logs {case.workload} --since=1h", f"{case.kubectl} rollout history {case.workload}"]
    for release in case.releases()[:1]:
        if -60 <= began - seconds(release["created_at"]) <= 900:
            held = [each["name"] for each in case.k8s.get("jobs") or [] if each.get("suspend")]
            also = f"; the job {held[0]} is suspended and never ran" if held else ""
            yield Finding(
                "bad_deploy", 90, f"The release {release['images'][0].rsplit(':', 1)[-1]} fails: {said}",
                f"Requests fail since the rollout of {release['images'][0]}: {said}{also}",
                [f"5xx answers rise within minutes of revision {release['revision']}", said],
                [f"{case.kubectl} rollout undo {case.workload}", *(f"Run {name}, and deploy again" for name in held)],
                steps,
            )  # fmt: skip
    yield from connections(case, steps)


def connections(case: Case, steps: list[str]) -> Iterator[Finding]:
    """Find a database without free connections."""
    database = case.metrics.get("database") or {}
    most, limit = peak(database.get("connections")), database.get("connections_max") or 0
    if limit and most >= 0.95 * limit:
        holders = sorted(database.get("connections_by_application") or [], key=lambda each: int(each["count"]))
        who = holders[-1]["application_name"] if holders else "its clients"
        how = f"{holders[-1]['count']} of them {holders[-1]['state']}" if holders else "all of them"
        yield Finding(
            "connection_exhaustion", 90, f"Database connections are exhausted, most of them held by {who}",
            f"The database connections are exhausted ({most:.0f} of {limit}): {who} holds {how}",
            [f"{most:.0f} of {limit} connections are taken", f"{who} holds {how}"],
            [f"Stop {who}, and bound the connections that it may take", "Put a connection pooler before the database"],
            steps[:1],
        )  # fmt: skip


def disk_pressure(case: Case) -> Iterator[Finding]:
    """Find a node whose disk is full."""
    conditions = {each["type"]: each["status"] for each in case.k8s.get("node_conditions") or []}
    if conditions.get("DiskPressure") != "True":
        return
    writers = (case.metrics.get("log_volume") or {}).get("bytes") or []
    grown = {
        f"{each['metric']['namespace']}/{each['metric']['pod']}": points([each])[-1][1] - points([each])[0][1]
        for each in writers
    }
    pod = max(grown, key=lambda each: grown[each], default="an unknown pod")
    size = grown.get(pod, 0.0)
    yield Finding(
        "disk_pressure", 90 if grown else 60, f"DiskPressure: the logs of {pod} fill the node's disk",
        f"Disk pressure: the container logs of {pod} fill the node's disk, by {size / 2**30:.0f} GiB within the window",
        [f"The logs of {pod} grew by {size / 2**30:.0f} GiB"],
        [f"Lower the log level of {pod}, and delete the pod's logs", "Rotate container logs: containerLogMaxSize"],
        ["kubectl describe node", "kubectl get pods -A -o wide"],
    )  # fmt: skip


def lookups(case: Case) -> Iterator[Finding]:
    """Find name lookups that fail."""
    failed = case.lines(r"lookup (\S+)(?: on \S+:53)?: .*|Temporary failure in name resolution")
    if not failed:
        return
    shut = [
        each["name"]
        for each in case.k8s.get("network_policies") or []
        if "Egress" in each["policy_types"]
        and not any(port.endswith("/53") for rule in each.get("egress") or [] for port in rule.get("ports") or [])
    ]
    by = f": the network policy {shut[0]} lets nothing out to port 53" if shut else ""
    yield Finding(
        "dns", 95 if shut else 85, f"DNS lookups fail{', blocked by a network policy' if shut else ''}",
        f"DNS lookups fail{by}",
        [failed[-1][0], f"{len(failed)} lookups fail in the log"],
        [f"Allow UDP and TCP port 53 in the network policy {name}" for name in shut] or ["Mend the cluster's DNS"],
        [f"{case.kubectl} describe networkpolicy", f"{case.kubectl} exec {case.name} -- nslookup kubernetes.default"],
    )  # fmt: skip


RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    image_pull, missing_key, out_of_memory, liveness, crash, throttling, server_errors, disk_pressure, lookups,
)  # fmt: skip


def analyse(case: Case) -> Json:
    """Return the analysis of a case, in the form that an evaluation reads."""
    found = sorted((each for rule in RULES for each in rule(case)), key=lambda each: -each.confidence)
    if not found:
        return {"decision": {"label": "unknown", "next": [f"{case.kubectl} describe pod {case.name}"]}}
    best = found[0]
    return {
        "failure_mode": best.mode,
        "decision": {"label": best.mode, "why": [best.cause, *best.why], "next": best.steps},
        "rca": {"root_cause": best.cause, "remediation": best.fix, "confidence_0_1": best.confidence / 100},
        "hypotheses": [
            {"hypothesis_id": each.mode, "title": each.title, "confidence_0_100": each.confidence, "why": each.why}
            for each in found
        ],
        "verdict": {"one_liner": best.title, "primary_driver": best.mode, "next_steps": best.steps},
    }


def main() -> None:
    """Read an investigation on standard input and print its analysis."""
    parser = argparse.ArgumentParser(description="Finds the cause of an incident by rules; reads an investigation.")
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--exit-codes", action="store_true", help="judge how a container ended by its exit code alone")
    options = parser.parse_args()
    json.dump(analyse(Case(json.load(sys.stdin), options.exit_codes)), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
