//! The software bill of materials: every crate that is compiled into the published files, as CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::page::{TARGET, at};
use crate::project::{Project, output};

/// What is published: a package and its target.
fn published(host: &str) -> [(&'static str, &str); 2] {
    [("dormer", host), ("dormer-app", TARGET)]
}

/// The bill as text; `host` is the target of the command line.
pub(crate) fn bill_of_materials(project: &Project, host: &str) -> Result<String, String> {
    let lock = project.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(at(&lock))?;
    let checksums = checksums(&lock);
    let mut components = BTreeMap::new();
    for (package, target) in published(host) {
        let text = output(project.cargo().args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--features=dormer/page",
            "--filter-platform",
            target,
        ]));
        let text = text.ok_or("`cargo metadata` failed")?;
        let metadata = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        for (key, component) in of_package(&metadata, package, &checksums) {
            components.insert(key, component);
        }
    }
    let components: Vec<Value> = components.into_values().collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": "dormer",
            "version": env!("CARGO_PKG_VERSION"),
        }},
        "components": components,
    });
    let text = serde_json::to_string_pretty(&bill).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// A crate by name and version.
type Key = (String, String);

/// The crates that a package consists of, including itself, without build and dev dependencies.
fn of_package(
    metadata: &Value,
    package: &str,
    checksums: &BTreeMap<Key, String>,
) -> Vec<(Key, Value)> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let known: BTreeMap<String, &Value> = packages.iter().map(|of| (text(of, "id"), of)).collect();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let nodes: BTreeMap<String, &Value> = nodes.iter().map(|of| (text(of, "id"), of)).collect();
    let first = known.iter().find(|(_, of)| of["name"] == package);
    let mut waiting: Vec<String> = first.map(|(id, _)| id.clone()).into_iter().collect();
    let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
    while let Some(id) = waiting.pop() {
        let Some(node) = nodes.get(&id) else { continue };
        for needed in list(&node["deps"]) {
            let kinds = list(&needed["dep_kinds"]);
            let is_compiled_in = kinds.iter().any(|kind| kind["kind"].is_null());
            let id = text(&needed, "pkg");
            if is_compiled_in && seen.insert(id.clone()) {
                waiting.push(id);
            }
        }
    }
    let found = seen.iter().filter_map(|id| known.get(id));
    found
        .map(|of| {
            let (name, version) = (text(of, "name"), text(of, "version"));
            let key = (name.clone(), version.clone());
            let mut component = json!({
                "type": "library",
                "name": name,
                "version": version,
                "purl": format!("pkg:cargo/{name}@{version}"),
                "bom-ref": format!("pkg:cargo/{name}@{version}"),
            });
            // Crates from a decade ago write "MIT/Apache-2.0".
            if let Some(license) = of["license"].as_str() {
                let license = license.replace('/', " OR ");
                component["licenses"] = json!([{ "expression": license }]);
            }
            if let Some(sum) = checksums.get(&key) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
            }
            (key, component)
        })
        .collect()
}

/// The checksums in Cargo.lock of crates from a registry.
fn checksums(lock: &str) -> BTreeMap<Key, String> {
    let value = |part: &str, name: &str| {
        let mut lines = part.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"').to_owned())
    };
    let parts = lock.split("[[package]]").skip(1);
    let sums = parts.filter_map(|part| {
        let key = (value(part, "name")?, value(part, "version")?);
        Some((key, value(part, "checksum")?))
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_are_compiled_in_are_listed_once() {
        let package = |name: &str, license: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": license });
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let names = ["dormer", "flate2", "zlib", "cc", "tempfile", "other"];
        let packages = names.map(|name| package(name, "MIT/Apache-2.0"));
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "dormer", "deps": [dep("flate2", Value::Null), dep("zlib", Value::Null), dep("tempfile", json!("dev")), dep("cc", json!("build"))] },
                { "id": "flate2", "deps": [dep("zlib", Value::Null)] },
                { "id": "zlib", "deps": [] },
            ]},
        });
        let lock = "[[package]]\nname = \"zlib\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let found = of_package(&metadata, "dormer", &checksums(lock));
        let names: Vec<&str> = found.iter().map(|((name, _), _)| &**name).collect();
        assert_eq!(names, ["dormer", "flate2", "zlib"]);
        assert_eq!(found[1].1["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(found[1].1["hashes"], Value::Null);
        assert_eq!(found[2].1["hashes"][0]["content"], "ab");
        assert_eq!(found[2].1["purl"], "pkg:cargo/zlib@1.0.0");
    }
}
