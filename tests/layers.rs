//! The layers of the core crate, read from its source.
//!
//! A top-level module of `core/src` only uses top-level modules that precede it in [`MODULES`], and no sibling modules
//! depend on each other in a cycle. A module and its own children may use each other: a parent contains what its
//! children share. Tests may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use syn::visit::{self, Visit};

use crate::support::source;

/// The top-level modules, each after all that it may use. The modules for tests, examples and the
/// page's warm-up come last.
const MODULES: [&str; 17] = [
    "base", "trace", "names", "import", "hardware", "perf", "profile", "assess", "findings",
    "report", "compare", "job", "tables", "fleet", "output", "sample", "testing",
];

/// The order inside of the two largest modules: a child only uses those that precede it here. Children that are not
/// listed come after these; nothing listed uses them.
const INSIDE: [(&str, &[&str]); 2] = [
    (
        "profile",
        &[
            "launch",
            "cpu",
            "gpu",
            "window",
            "memory",
            "operations",
            "model_info",
            "serving",
            "graphs",
            "lanes",
            "collectives",
        ],
    ),
    ("findings", &["engine", "unmodeled", "prelude"]),
];

/// A module path: `["profile", "cpu", "tree"]`.
type Module = Vec<String>;

/// Which module uses which, with the files that do so.
type Uses = BTreeMap<(Module, Module), BTreeSet<String>>;

#[test]
fn modules_use_only_those_before_them() {
    let place = |module: &Module| {
        let name = module.first()?;
        MODULES.iter().position(|module| module == name)
    };
    let steps_back: Vec<String> = USES
        .iter()
        .filter(|((from, to), _)| place(from) < place(to))
        .map(|((from, to), files)| format!("{} uses {}: {files:?}", from[0], to[0]))
        .collect();
    assert!(steps_back.is_empty(), "{}", steps_back.join("\n"));
}

#[test]
fn children_use_only_those_before_them() {
    for (parent, children) in INSIDE {
        let place = |module: &Module| {
            let name = module.get(1).filter(|_| module[0] == parent)?;
            let listed = children.iter().position(|child| child == name);
            Some(listed.unwrap_or(children.len()))
        };
        let steps_back: Vec<String> = USES
            .iter()
            .filter(|((from, to), _)| place(to).is_some_and(|to| place(from) < Some(to)))
            .filter(|((from, _), _)| place(from).is_some())
            .map(|((from, to), files)| format!("{} uses {}: {files:?}", from[1], to[1]))
            .collect();
        assert!(steps_back.is_empty(), "{parent}: {}", steps_back.join("\n"));
    }
}

#[test]
fn every_folder_is_listed() {
    let listed: BTreeSet<String> = MODULES.iter().map(|module| module.to_string()).collect();
    let found: BTreeSet<String> = sources()
        .into_iter()
        .filter_map(|(module, ..)| module.first().cloned())
        .collect();
    assert_eq!(found, listed);
}

#[test]
fn no_modules_form_a_cycle() {
    // Dependencies between siblings: for each use, the two modules where their paths diverge.
    let mut dependencies: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, to) in USES.keys() {
        let n_shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if n_shared < from.len() && n_shared < to.len() {
            let [from, to] = [from, to].map(|path| path[..=n_shared].to_vec());
            dependencies.entry(from).or_default().insert(to);
        }
    }
    let reaches = |start: &Module, goal: &Module| {
        let (mut seen, mut to_visit) = (BTreeSet::new(), vec![start]);
        while let Some(module) = to_visit.pop() {
            for next in dependencies.get(module).into_iter().flatten() {
                if next == goal {
                    return true;
                }
                if seen.insert(next) {
                    to_visit.push(next);
                }
            }
        }
        false
    };
    let in_cycles: Vec<String> = dependencies
        .keys()
        .filter(|module| reaches(module, module))
        .map(|module| module.join("::"))
        .collect();
    assert!(in_cycles.is_empty(), "in cycles: {}", in_cycles.join(", "));
}

/// Only the command line writes Arrow tables, so the core and the page do not depend on it.
#[test]
fn core_and_page_have_no_arrow() {
    let packages = packages();
    for (name, has_arrow) in [
        ("dormer-core", false),
        ("dormer-app", false),
        ("dormer", true),
    ] {
        let (mut all, mut to_visit) = (BTreeSet::new(), vec![name]);
        while let Some(package) = to_visit.pop() {
            if all.insert(package) {
                to_visit.extend(packages[package].iter().map(String::as_str));
            }
        }
        let is_arrow = |name: &&str| name.starts_with("arrow") || *name == "parquet";
        assert_eq!(all.iter().any(is_arrow), has_arrow, "{name}: {all:?}");
    }
}

/// Every package of `Cargo.lock` with the names of its dependencies; several versions of a package count as one.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let lock = fs::read_to_string(source::path("Cargo.lock")).unwrap();
    let mut packages = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut texts = package.split('"').skip(1).step_by(2);
        let name = texts.next().unwrap().to_owned();
        let (_, used) = package.split_once("dependencies = [").unwrap_or_default();
        let used = used.split('"').skip(1).step_by(2);
        let used = used.filter_map(|text| text.split(' ').next().map(str::to_owned));
        let known: &mut BTreeSet<String> = packages.entry(name).or_default();
        known.extend(used);
    }
    packages
}

/// Every source file of the core: its module, its path, its text.
fn sources() -> Vec<(Module, PathBuf, String)> {
    let files = source::files("core/src", "rs").into_iter();
    let modules = files.map(|(path, text)| {
        let names = path.with_extension("");
        let names = names.iter().map(|name| name.to_str().unwrap().to_owned());
        let mut module: Module = names.collect();
        module.pop_if(|name| name == "mod");
        (module, path, text)
    });
    modules.filter(|(module, ..)| module != &["lib"]).collect()
}

/// All uses, except in tests.
static USES: LazyLock<Uses> = LazyLock::new(|| {
    let sources = sources();
    let modules: BTreeSet<Module> = sources.iter().map(|(module, ..)| module.clone()).collect();
    let parsed: Vec<(Module, String, syn::File)> = sources
        .into_iter()
        .map(|(module, path, text)| {
            let file = syn::parse_file(&text).unwrap();
            (module, path.display().to_string(), file)
        })
        .collect();
    let tests: BTreeSet<Module> = parsed
        .iter()
        .flat_map(|(module, _, file)| test_modules(module, &file.items))
        .collect();
    let is_test = |module: &Module| (1..=module.len()).any(|n| tests.contains(&module[..n]));
    let reexports = reexports();
    let mut uses = Uses::new();
    for (module, path, file) in &parsed {
        if is_test(module) {
            continue;
        }
        let mut paths = Paths {
            module: module.clone(),
            found: Vec::new(),
        };
        paths.visit_file(file);
        for mut used in paths.found {
            if let Some(origin) = used.first().and_then(|name| reexports.get(name)) {
                used = origin.clone();
            }
            // The longest prefix that is a module; the rest is an item in it.
            let known = (1..=used.len()).rev().map(|n| used[..n].to_vec());
            let target = known.into_iter().find(|path| modules.contains(path));
            if let Some(target) = target.filter(|target| !is_test(target) && target != module) {
                let files = uses.entry((module.clone(), target)).or_default();
                files.insert(path.clone());
            }
        }
    }
    uses
});

/// The re-exports of `lib.rs`: "Profile" is `profile::Profile`.
fn reexports() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(source::path("core/src/lib.rs")).unwrap();
    let file = syn::parse_file(&text).unwrap();
    let mut paths = Paths {
        module: Module::new(),
        found: Vec::new(),
    };
    for item in &file.items {
        if let syn::Item::Use(item) = item {
            paths.add_tree(&["crate".to_owned()], &item.tree);
        }
    }
    let named = paths.found.into_iter();
    named
        .filter_map(|path| Some((path.last()?.clone(), path)))
        .collect()
}

/// The modules of a file that are compiled only for tests.
fn test_modules(module: &Module, items: &[syn::Item]) -> Vec<Module> {
    let modules = items.iter().filter_map(|item| match item {
        syn::Item::Mod(inner) if is_for_tests(&inner.attrs) => Some(inner),
        _ => None,
    });
    modules
        .map(|inner| [module.clone(), vec![inner.ident.to_string()]].concat())
        .collect()
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test")
    })
}

/// Collects the paths of a module, made absolute.
struct Paths {
    module: Module,
    found: Vec<Vec<String>>,
}

impl Paths {
    /// Adds a path that starts with `crate`, `self` or `super`; other paths refer to imported names, or to another
    /// crate.
    fn add(&mut self, path: &[String]) {
        let (mut base, mut rest) = match path.first().map(String::as_str) {
            Some("crate") => (Vec::new(), &path[1..]),
            Some("self") => (self.module.clone(), &path[1..]),
            Some("super") => (self.module.clone(), path),
            _ => return,
        };
        while let Some((first, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
            debug_assert_eq!(first, "super");
            base.pop();
            rest = after;
        }
        self.found.push([base, rest.to_vec()].concat());
    }

    fn add_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.add(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.add(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.add(before),
            syn::UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.add_tree(before, tree));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, inner: &'ast syn::ItemMod) {
        if is_for_tests(&inner.attrs) {
            return;
        }
        self.module.push(inner.ident.to_string());
        visit::visit_item_mod(self, inner);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.add_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        self.add(&names);
        visit::visit_path(self, path);
    }
}
