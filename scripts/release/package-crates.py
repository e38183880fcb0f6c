#!/usr/bin/env python3
"""Packs the libraries and the program of the last commit as crates of the names that are free on the public registry: fieldscope,
fieldscope-cli, fieldscope-data and so on. Publishes nothing.

    scripts/release/package-crates.py [--repository URL] [CARGO-PACKAGE-OPTION ...]      (default option: --no-verify)

In the tree, crates have the names that their code uses, of which some are taken. A copy of the tree in target/crates gets the free
ones: packages are renamed, the names of their libraries stay, and so no line of code changes. Each crate gets the licences' texts.
The crates are left in target/crates/target/package; `cargo publish --workspace` in target/crates would be the next step.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "target/crates"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
# For this workspace alone: hostile bytes for readers, and what Python and the browser load, which comes as a wheel and in the program.
KEPT_BACK = ("scope-fuzz", "scope-python", "scope-wasm")


def copy_of_the_commit():
    """The last commit's files. What an earlier call has built there is kept."""
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.iterdir():
        if path.name != "target":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", COPY], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        sys.exit("error: git archive failed")


def renamed(name):
    return re.sub(r"^scope\b", "fieldscope", name)


def rename_in_workspace(names, repository):
    """The root manifest: dependencies under their old names are packages of new ones, and settings are for the new ones."""
    path = COPY / "Cargo.toml"
    text = path.read_text()
    for name in names:
        text = re.sub(rf"^({name} = \{{)", rf'\1 package = "{renamed(name)}",', text, flags=re.MULTILINE)
        text = re.sub(rf"^(\[profile\.\w+\.package\.){name}\]", rf"\1{renamed(name)}]", text, flags=re.MULTILINE)
    if repository:
        text = text.replace("[workspace.package]\n", f'[workspace.package]\nrepository = "{repository}"\n')
    path.write_text(text)
    lock = COPY / "Cargo.lock"
    words = "|".join(names)
    lock.write_text(re.sub(rf'^(name = | )"({words})"', lambda found: f'{found[1]}"{renamed(found[2])}"', lock.read_text(), flags=re.MULTILINE))


def rename_crate(name, repository):
    """One crate: its package gets the new name, its library keeps the old one."""
    folder = COPY / "crates" / name
    path = folder / "Cargo.toml"
    text = path.read_text().replace(f'name = "{name}"', f'name = "{renamed(name)}"', 1)
    text = text.replace("publish.workspace = true\n", "repository.workspace = true\n" if repository else "")
    if (folder / "src/lib.rs").exists():
        text += f'\n[lib]\nname = "{name.replace("-", "_")}"\n'
    path.write_text(text)
    for licence in LICENCES:
        shutil.copy(COPY / licence, folder)


def faults(crate):
    """What a packed crate lacks."""
    with tarfile.open(crate) as packed:
        root = crate.name.removesuffix(".crate")
        files = set(packed.getnames())
        manifest = tomllib.loads(packed.extractfile(f"{root}/Cargo.toml").read().decode())
    yield from (f"{crate.name} has no {licence}" for licence in LICENCES if f"{root}/{licence}" not in files)
    for field in ("description", "license", "keywords", "categories", "rust-version"):
        if not manifest["package"].get(field):
            yield f"{crate.name} states no {field}"
    for table in ("dependencies", "dev-dependencies"):
        for name, wanted in manifest.get(table, {}).items():
            if "version" not in wanted:
                yield f"{crate.name} needs {name} in any version"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repository", metavar="URL")
    arguments, options = parser.parse_known_args()
    copy_of_the_commit()
    crates = sorted(path.parent.name for path in COPY.glob("crates/*/Cargo.toml"))
    published = [name for name in crates if name not in KEPT_BACK]
    rename_in_workspace(published, arguments.repository)
    for name in published:
        rename_crate(name, arguments.repository)
    packed = COPY / "target/package"
    shutil.rmtree(packed, ignore_errors=True)
    left_out = [word for name in KEPT_BACK for word in ("--exclude", name)]
    # Changed as it is, the copy is no commit.
    command = ["cargo", "package", "--workspace", "--allow-dirty", *left_out, *(options or ["--no-verify"])]
    subprocess.run(command, cwd=COPY, check=True)
    made = sorted(packed.glob("*.crate"))
    wrong = [fault for crate in made for fault in faults(crate)]
    if len(made) != len(published):
        wrong.append(f"{len(made)} crates were packed of {len(published)}")
    print("\n".join(wrong) or f"{len(made)} crates in {packed.relative_to(ROOT)}: {', '.join(renamed(name) for name in published)}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
