"""What `deploy/` names is there: files, ports, addresses, variables; its policy lets the app's own scripts run, and no others."""

import base64
import hashlib
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from app import permissions
from app.menu import PAGES
from app.server import first_paint

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
FOREIGN = {"PATH", "HOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}  # the system's and Python's
HEALTH = "/_stcore/health"


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


DOCKERFILE, CADDYFILE = read("Dockerfile"), read("Caddyfile")
COMPOSE = yaml.safe_load(read("compose.yaml"))
MANIFEST = list(yaml.safe_load_all(read("kubernetes.yaml")))
PROXY_VARIABLES = set(re.findall(r"\{\$(\w+)", CADDYFILE))


def image_environment() -> dict[str, str]:
    block = re.search(r"^ENV ((?:.*\\\n)*.*)$", DOCKERFILE, re.M)[1]
    return dict(pair.split("=", 1) for pair in block.replace("\\\n", " ").split())


def unknown_variables(names: set[str]) -> set[str]:
    """Those that neither the code reads nor Streamlit knows as an option."""
    from streamlit import config

    options = {
        "STREAMLIT_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.replace(".", "_")).upper() for key in config.get_config_options()
    }
    code = "\n".join(path.read_text(encoding="utf-8") for home in ("app", "vitcore") for path in (ROOT / home).rglob("*.py"))
    read_here = set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", code))
    assert "VITCORE_MODELS" in read_here and "STREAMLIT_SERVER_MAX_UPLOAD_SIZE" in options
    return names - read_here - options - FOREIGN


def containers() -> dict[str, dict]:
    pods = [one["spec"]["template"]["spec"] for one in MANIFEST if one["kind"] == "Deployment"]
    return {container["name"]: container | {"pod": pod} for pod in pods for container in pod["containers"]}


def test_files_and_commands_of_the_image_are_there():
    sources = [name for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M) for name in line.split()[:-1]]
    assert {"app", "vitcore", "assets", ".streamlit", "requirements.txt"} <= set(sources)
    assert [name for name in sources if not (ROOT / name).exists()] == []
    sent = re.findall(r"^!(.*)$", read("Dockerfile.dockerignore"), re.M)
    assert [name for name in sources if not any(name == one or name.startswith(f"{one}/") for one in sent)] == []
    kept = set(re.findall(r"! -name (\S+)", DOCKERFILE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert kept and kept == set(re.findall(r"! -name (\S+)", makefile)), "the browser's files, as `make live` leaves them"
    command = re.findall(r'^CMD \["streamlit", "run", "(.*?)"\]', DOCKERFILE, re.M)
    assert len(command) == 1 and (ROOT / command[0]).is_file()
    for name in re.findall(r"`([\w/]+\.(?:py|yaml|html|json|txt))`|`(Dockerfile|Caddyfile)`", read("README.md")):
        assert any((home / "".join(name)).is_file() for home in (DEPLOY, ROOT)), name
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    bases = re.findall(r"^FROM python:(\d+)\.(\d+)-slim", DOCKERFILE, re.M)
    assert len(set(bases)) == 1 and tuple(map(int, bases[0])) >= tuple(map(int, python.removeprefix(">=").split(".")))


def test_variables_are_those_that_the_code_reads():
    assert unknown_variables({"INSIDE_VIT_PUBLIK", "STREAMLIT_SERVER_PROT"}) == {"INSIDE_VIT_PUBLIK", "STREAMLIT_SERVER_PROT"}
    compose, kubernetes = COMPOSE["services"], {name: {one["name"] for one in c["env"]} for name, c in containers().items()}
    said = image_environment()
    assert unknown_variables(said.keys() | compose["app"]["environment"].keys() | kubernetes["app"]) == set()
    assert said["INSIDE_VIT_PUBLIC"] == compose["app"]["environment"]["INSIDE_VIT_PUBLIC"] == "1"
    assert {"INSIDE_VIT_PUBLIC"} <= kubernetes["app"]
    ports = {"HTTP_PORT", "HTTPS_PORT"}
    assert compose["proxy"]["environment"].keys() == PROXY_VARIABLES - ports and kubernetes["caddy"] == PROXY_VARIABLES
    outside = set(re.findall(r"\$\{(\w+)", read("compose.yaml")))
    assert outside == set(re.findall(r"^\| `(\w+)` \|", read("README.md"), re.M)), "the README's table says them all"


def test_ports_and_the_health_address_are_the_apps():
    from streamlit.web.server.starlette.starlette_routes import BASE_ROUTE_CORE, create_health_routes

    assert {route.path for route in create_health_routes(None, None)} == {HEALTH} and HEALTH.strip("/").startswith(BASE_ROUTE_CORE)
    port = image_environment()["STREAMLIT_SERVER_PORT"]
    assert re.findall(r"http://127\.0\.0\.1:(\d+)(/[\w/]+)", DOCKERFILE) == [(port, HEALTH)]
    assert re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.M) == [port] == re.findall(r"\{\$APP_PORT:(\d+)\}", CADDYFILE)
    assert COMPOSE["services"]["proxy"]["environment"]["APP_PORT"] == port and re.findall(
        r"^app_port: (\d+)", read("README.md"), re.M
    ) == [port]
    app = containers()["app"]
    probes = [app[kind]["httpGet"] for kind in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert all(probe == {"path": HEALTH, "port": "http"} for probe in probes)
    assert app["ports"] == [{"name": "http", "containerPort": int(port)}]
    services = {one["metadata"]["name"]: one["spec"] for one in MANIFEST if one["kind"] == "Service"}
    caddy = {one["name"]: one["value"] for one in containers()["caddy"]["env"]}
    assert caddy["APP_PORT"] == port and services[caddy["APP_HOST"]]["clusterIP"] == "None"
    assert COMPOSE["services"]["proxy"]["environment"]["APP_HOST"] in COMPOSE["services"]


def test_only_the_named_places_can_be_written_and_nothing_is_root():
    volumes = set(re.findall(r'"(/\w+)"', re.search(r"^VOLUME (.*)$", DOCKERFILE, re.M)[1]))
    app = COMPOSE["services"]["app"]
    assert volumes == {place.rpartition(":")[2] for place in app["volumes"]} and app["read_only"] and app["cap_drop"] == ["ALL"]
    user = int(re.search(r"^USER (\d+)$", DOCKERFILE, re.M)[1])
    pod = containers()["app"]
    assert pod["pod"]["securityContext"]["runAsUser"] == user > 0 and pod["pod"]["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["readOnlyRootFilesystem"] and {one["mountPath"] for one in pod["volumeMounts"]} == volumes
    said = image_environment()
    assert all(any(fnmatch(said[name], f"{place}*") for place in volumes) for name in ("HOME", "VITCORE_RUNS"))


def test_the_policy_knows_the_scripts_of_the_first_page():
    """A browser runs only inline scripts whose hashes the policy names."""
    policy = re.search(r'Content-Security-Policy "(.*)"', CADDYFILE)[1]
    scripts = re.findall(r"<script>(.*?)</script>", first_paint.index_html(), re.S)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts}
    assert len(hashes) >= 2 and set(re.findall(r"'sha256-.*?'", policy)) == hashes
    assert "unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "") and not re.search(r"https?:|\*", policy)
    assert "'unsafe-inline'" not in re.search(r"script-src ([^;]*)", policy)[1]
    assert "Cross-Origin" not in CADDYFILE and any(row.slug == "live" for row in PAGES), "the app sends these itself"


def test_the_proxy_takes_what_the_app_takes_in_public():
    most = int(re.search(r"max_size (\d+)MiB", CADDYFILE)[1])
    limit = permissions.UPLOAD_LIMIT_MB["public"]
    assert limit < most <= limit + 1, "a form's own lines take a little"
    assert f"{limit} MB" in re.search(r"respond @large \"(.*)\"", CADDYFILE)[1]


@pytest.mark.parametrize("file", ["SECURITY.md", "deploy/README.md"])
def test_what_the_pages_point_to_is_there(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s:]+)\)", text) + re.findall(r"`((?:app|vitcore|tests|deploy)/[\w/.]+)`", text)
    homes = ((ROOT / file).parent, ROOT)
    assert len(links) >= 2 and [link for link in links if not any((home / link).exists() for home in homes)] == []


def test_limits_in_security_are_the_codes():
    from vitcore.images import MAX_BYTES, MAX_JPEG_PIXELS, MAX_PIXELS

    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    limits = permissions.UPLOAD_LIMIT_MB
    photos = [f"At most {MAX_BYTES // 2**20} MB", f"{MAX_PIXELS // 10**6} million pixels", f"smaller: {MAX_JPEG_PIXELS // 10**6}"]
    for figure in (*photos, f"takes {limits['public']} MB", f"local mode takes {limits['local']}"):
        assert figure in text, figure
    assert permissions.RESTRICTED == ("trainings", "measurements", "paths", "downloads"), "what public mode forbids, said there"
