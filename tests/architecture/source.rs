//! Reads the library's source as text: its code without comments, literals and tests, its types, and its imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Files that contain only tests and their shared code.
const TEST_FILES: [&str; 3] = ["tests.rs", "testing.rs", "synthetic.rs"];

/// A crate of the library.
struct Package {
    /// The crate's folder, relative to the root of the repository.
    folder: &'static str,
    /// The module as which the library exports the crate's root; empty if it exports each module of the crate.
    root: &'static str,
    /// Modules of the crate that are also modules of the library, in addition to its root.
    beside: &'static [&'static str],
}

const PACKAGES: [Package; 5] = [
    Package {
        folder: "",
        root: "",
        beside: &[],
    },
    Package {
        folder: "crates/units",
        root: "units",
        beside: &["io", "stats"],
    },
    Package {
        folder: "crates/rollout",
        root: "rollout",
        beside: &[],
    },
    Package {
        folder: "crates/world",
        root: "",
        beside: &[],
    },
    Package {
        folder: "crates/report",
        root: "",
        beside: &[],
    },
];

impl Package {
    /// The source folder of the crate.
    fn source(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(self.folder)
            .join("src")
    }

    /// The path of a file below the source folder if the library were one crate. `None`: the file is the root of a
    /// crate whose modules are modules of the library.
    fn in_library(&self, below: &str) -> Option<String> {
        if self.folder.is_empty() {
            return Some(below.to_owned());
        }
        if below == "lib.rs" {
            return (!self.root.is_empty()).then(|| format!("{}/mod.rs", self.root));
        }
        let first = below.split('/').next().unwrap_or_default();
        if self.root.is_empty() || self.beside.contains(&first) {
            Some(below.to_owned())
        } else {
            Some(format!("{}/{below}", self.root))
        }
    }

    /// The code as if the library were one crate: paths that begin with `name` begin with `crate` instead.
    fn as_one_crate(&self, code: &str, name: &str) -> String {
        let prefix = format!("{name}::");
        let mut rewritten = String::with_capacity(code.len());
        let mut rest = code;
        while let Some(at) = rest.find(&prefix) {
            let (before, found) = rest.split_at(at);
            let after = &found[prefix.len()..];
            let first = &after[..after.find(|c| !is_word(c)).unwrap_or(after.len())];
            rewritten.push_str(before);
            rewritten.push_str("crate::");
            if !self.root.is_empty() && !self.beside.contains(&first) {
                rewritten.push_str(self.root);
                rewritten.push_str("::");
            }
            rest = after;
        }
        rewritten.push_str(rest);
        rewritten
    }

    /// The name under which other crates import the crate. `None` for the library itself.
    fn name(&self) -> Option<String> {
        let name = self.folder.strip_prefix("crates/")?;
        Some(format!("fleetsim_{name}"))
    }
}

/// A source file without its tests.
pub(crate) struct SourceFile {
    /// Path below `src`, with `/`, as if the library were one crate.
    pub(crate) path: String,
    /// The path of the file on disk.
    pub(crate) file: PathBuf,
    /// The code: comments and the contents of literals are blanked, and items under `#[cfg(test)]` are removed.
    pub(crate) code: String,
}

/// All source files with code other than tests, sorted by path.
pub(crate) fn all_files() -> &'static [SourceFile] {
    static FILES: LazyLock<Vec<SourceFile>> = LazyLock::new(read_all);
    &FILES
}

fn read_all() -> Vec<SourceFile> {
    let mut files = Vec::new();
    for package in &PACKAGES {
        let source = package.source();
        let mut paths = Vec::new();
        collect(&source, &mut paths);
        for file in paths {
            let below = file.strip_prefix(&source).expect("a file of the source");
            let below = below.to_str().expect("UTF-8").replace('\\', "/");
            if let Some(path) = package.in_library(&below) {
                let code = code_of(package, &file);
                files.push(SourceFile { path, file, code });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn code_of(package: &Package, file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file");
    let mut code = package.as_one_crate(&without_tests(&blanked(&text)), "crate");
    for other in &PACKAGES {
        if let Some(name) = other.name() {
            code = other.as_one_crate(&code, &name);
        }
    }
    code
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("an entry has a name")
            .to_str()
            .expect("UTF-8");
        if path.is_dir() && name != "tests" {
            collect(&path, found);
        } else if name.ends_with(".rs") && !TEST_FILES.contains(&name) {
            found.push(path);
        }
    }
}

impl SourceFile {
    /// The room that the file is in: a folder or a file directly below `src`.
    pub(crate) fn room(&self) -> &str {
        let first = self
            .path
            .split('/')
            .next()
            .expect("a split has a first part");
        first.trim_end_matches(".rs")
    }

    /// Returns whether the file declares other modules, which may use its definitions.
    pub(crate) fn is_parent(&self) -> bool {
        self.path.ends_with("mod.rs") || !self.path.contains('/')
    }

    /// The module's path from the crate's root.
    pub(crate) fn module(&self) -> Vec<String> {
        let mut parts: Vec<String> = self
            .path
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        if parts
            .last()
            .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
        {
            parts.pop();
        }
        parts
    }

    /// Names of the structs, enums, traits and type aliases that the file defines.
    pub(crate) fn types(&self) -> impl Iterator<Item = &str> {
        self.code.lines().filter_map(|line| {
            let line = line
                .strip_prefix("pub")
                .map_or(line, |rest| match rest.strip_prefix('(') {
                    Some(scope) => scope.split_once(')').map_or(scope, |(_, item)| item),
                    None => rest,
                });
            let line = line.strip_prefix(' ').unwrap_or(line);
            let item = ["struct ", "enum ", "trait ", "type "]
                .iter()
                .find_map(|kind| line.strip_prefix(kind))?;
            Some(&item[..item.find(|c| !is_word(c)).unwrap_or(item.len())])
        })
    }

    /// Every path in the code that begins with `crate`, `self` or `super`, as parts from the crate's root.
    pub(crate) fn imports(&self) -> Vec<Vec<String>> {
        let (uses, rest) = split_uses(&self.code);
        let of_uses = uses.iter().flat_map(|(_, tree)| expanded(tree));
        let paths: Vec<String> = of_uses.chain(inline_paths(&rest)).collect();
        paths
            .iter()
            .filter_map(|path| self.resolve_from_root(path))
            .collect()
    }

    /// The names that the file re-exports with `pub use`, with the paths that they refer to.
    fn passed_on(&self) -> Vec<(Vec<String>, Vec<String>)> {
        let (uses, _) = split_uses(&self.code);
        let public = uses
            .iter()
            .filter(|(public, _)| *public)
            .flat_map(|(_, tree)| expanded(tree));
        let entry = |path: String| {
            let mut name = self.module();
            name.push(
                path.rsplit("::")
                    .next()
                    .expect("a path has a last part")
                    .to_owned(),
            );
            let inside = || {
                self.module()
                    .into_iter()
                    .chain(path.split("::").map(str::to_owned))
                    .collect()
            };
            (name, self.resolve_from_root(&path).unwrap_or_else(inside))
        };
        public.map(entry).collect()
    }

    fn resolve_from_root(&self, path: &str) -> Option<Vec<String>> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut from = match parts.peek()? {
            &"crate" => Vec::new(),
            &"self" | &"super" => self.module(),
            _ => return None,
        };
        for part in parts {
            match part {
                "crate" | "self" => {}
                "super" => drop(from.pop()),
                name => from.push(name.to_owned()),
            }
        }
        Some(from)
    }
}

/// For each file, the files of its room that it imports. Names that a parent re-exports are followed to their
/// definition. Parents themselves are left out: they declare their children, which may use them.
pub(crate) fn arrows_inside_rooms(files: &[SourceFile]) -> BTreeMap<&str, BTreeSet<&str>> {
    let by_module: BTreeMap<Vec<String>, &SourceFile> =
        files.iter().map(|file| (file.module(), file)).collect();
    let passed_on: BTreeMap<Vec<String>, Vec<String>> =
        files.iter().flat_map(SourceFile::passed_on).collect();
    let owner = |mut parts: Vec<String>| -> Option<&SourceFile> {
        // A name may be re-exported several times.
        for _ in 0..8 {
            let (length, target) = (1..=parts.len()).rev().find_map(|length| {
                // A parent may re-export a function that has the name of its module: the path leads to the module.
                let is_module = by_module.contains_key(&parts[..length]);
                let target = passed_on
                    .get(&parts[..length])
                    .filter(|target| !is_module && ***target != parts[..length]);
                (target.is_some() || is_module).then_some((length, target))
            })?;
            let Some(target) = target else {
                return by_module.get(&parts[..length]).copied();
            };
            parts = target
                .iter()
                .cloned()
                .chain(parts.drain(length..))
                .collect();
        }
        None
    };
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_parent()) {
        let targets = file.imports().into_iter().filter_map(owner);
        let inside = targets.filter(|target| target.room() == file.room() && !target.is_parent());
        let others: BTreeSet<&str> = inside.map(|target| target.path.as_str()).collect();
        arrows
            .entry(&file.path)
            .or_default()
            .extend(others.into_iter().filter(|path| *path != file.path));
    }
    arrows
}

/// Groups of nodes that reach each other.
pub(crate) fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            open.extend(
                arrows
                    .get(node)
                    .into_iter()
                    .flatten()
                    .filter(|next| seen.insert(**next)),
            );
        }
        seen
    };
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|node| (*node, reached(node))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (node, others) in &reach {
        if others.contains(node) && !found.iter().any(|circle| circle.contains(node)) {
            found.push(
                others
                    .iter()
                    .copied()
                    .filter(|other| reach[other].contains(node))
                    .collect(),
            );
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text with comments and the contents of literals replaced by spaces: same length, same lines.
fn blanked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(text, at);
        for byte in &mut plain[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = if end > at { end } else { at + 1 };
    }
    String::from_utf8(plain).expect("only whole literals were replaced")
}

/// The end of the comment or literal that begins at `at`; `at` if none begins there.
fn literal_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let after = |pattern: &[u8], from: usize| {
        let found = bytes[from..]
            .windows(pattern.len())
            .position(|window| window == pattern);
        found.map_or(bytes.len(), |offset| from + offset + pattern.len())
    };
    let starts_word = at == 0 || !is_word(bytes[at - 1] as char);
    match bytes[at] {
        b'/' if bytes[at..].starts_with(b"//") => after(b"\n", at) - 1,
        b'/' if bytes[at..].starts_with(b"/*") => after(b"*/", at + 2),
        b'r' if starts_word || bytes[at - 1] == b'b' => {
            let hashes = bytes[at + 1..]
                .iter()
                .take_while(|byte| **byte == b'#')
                .count();
            if bytes.get(at + 1 + hashes) != Some(&b'"') {
                return at;
            }
            after(
                &[b"\"".as_slice(), &b"#".repeat(hashes)].concat(),
                at + hashes + 2,
            )
        }
        b'"' => {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(bytes.len())
        }
        // A character literal is closed after one character or an escape; anything else is a lifetime.
        b'\'' if bytes.get(at + 1) == Some(&b'\\') => after(b"'", at + 3),
        b'\'' => {
            let length = text[at + 1..].chars().next().map_or(0, char::len_utf8);
            if bytes.get(at + 1 + length) == Some(&b'\'') {
                at + length + 2
            } else {
                at
            }
        }
        _ => at,
    }
}

/// The code without items under `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        let (before, item) = rest.split_at(start);
        kept.push_str(before);
        // The item ends at a semicolon, or where its first brace closes.
        let body = item.find(['{', ';']).unwrap_or(item.len() - 1);
        let end = if item[body..].starts_with('{') {
            closing(item, body)
        } else {
            body
        };
        rest = item.get(end + 1..).unwrap_or("");
    }
    kept + rest
}

/// The position at which the brace at `opening` closes.
fn closing(code: &str, opening: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[opening..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return opening + at;
        }
    }
    code.len() - 1
}

/// Every `use` and whether it is public, and the code without them.
fn split_uses(code: &str) -> (Vec<(bool, &str)>, String) {
    let mut uses = Vec::new();
    let mut rest = String::new();
    let mut from = 0;
    for (at, _) in code.match_indices("use ") {
        let before = &code[from.min(at)..at];
        if at < from || code[..at].ends_with(is_word) {
            continue;
        }
        let Some(length) = code[at..].find(';') else {
            continue;
        };
        let line = before.lines().last().unwrap_or("").trim();
        uses.push((
            line.starts_with("pub"),
            &code[at + "use ".len()..at + length],
        ));
        rest.push_str(before);
        from = at + length + 1;
    }
    rest.push_str(&code[from..]);
    (uses, rest)
}

/// The paths of a `use`: `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(opening) = tree.find('{') else {
        return vec![
            tree.split(" as ")
                .next()
                .expect("a split has a first part")
                .trim()
                .to_owned(),
        ];
    };
    let inside = &tree[opening + 1..closing(tree, opening)];
    let mut depth = 0;
    let parts = inside.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts
        .flat_map(expanded)
        .map(|path| format!("{}{path}", &tree[..opening]))
        .collect()
}

/// The paths in code that begin with `crate`, `self` or `super`.
fn inline_paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with(|c| is_word(c) || c == ':') {
                let path: String = code[at..]
                    .chars()
                    .take_while(|c| is_word(*c) || *c == ':')
                    .collect();
                found.push(path.trim_end_matches(':').to_owned());
            }
        }
    }
    found
}

#[test]
fn removes_comments_literals_and_tests() {
    let code = "a /* { */ b // }\n'{' c \"}\\\"{\" r#\"\"{\"# &'a d b'}' '\\'' e\n#[cfg(test)]\nmod tests {\n fn f() {}\n}\ng";
    let words: Vec<&str> = without_tests(&blanked(code))
        .leak()
        .split_whitespace()
        .collect();
    assert_eq!(words, ["a", "b", "c", "&'a", "d", "b", "e", "g"]);
}

#[test]
fn finds_imports_anywhere_in_a_file() {
    let found = |path: &str, code: &str| -> Vec<String> {
        let file = SourceFile {
            path: path.to_owned(),
            file: PathBuf::new(),
            code: code.to_owned(),
        };
        file.imports()
            .iter()
            .map(|parts| parts.join("::"))
            .collect()
    };
    assert_eq!(
        found(
            "sim/run.rs",
            "use crate::world::{A, b::B};\nuse crate::units;"
        ),
        ["world::A", "world::b::B", "units"]
    );
    assert_eq!(
        found("sim/run.rs", "use crate::{engine, flow::{LinkId as L}};"),
        ["engine", "flow::LinkId"]
    );
    assert_eq!(
        found("sim/x/run.rs", "let x = super::other::f(super::super::Y);"),
        ["sim::x::other::f", "sim::Y"]
    );
    assert_eq!(
        found("sim/mod.rs", "self::run::start(); crate::A::b"),
        ["A::b", "sim::run::start"]
    );
    assert!(
        found("sim/run.rs", "use some_crate::thing; let y = my_super::z;").is_empty(),
        "other crates"
    );
}

#[test]
fn finds_cycles_through_names_that_a_parent_re_exports() {
    let file = |path: &str, code: &str| SourceFile {
        path: path.to_owned(),
        file: PathBuf::new(),
        code: code.to_owned(),
    };
    let files = [
        file(
            "sim/mod.rs",
            "mod a; mod b; mod c;\npub use self::b::{B, Other};",
        ),
        file("sim/a.rs", "use super::B;"),
        file("sim/b.rs", "use crate::sim::c::C;"),
        file("sim/c.rs", "fn f() { super::a::g() }"),
        file("sim/d.rs", "use super::a::A;"),
    ];
    let found = circles(&arrows_inside_rooms(&files));
    assert_eq!(
        found,
        [BTreeSet::from(["sim/a.rs", "sim/b.rs", "sim/c.rs"])]
    );
}

#[test]
fn finds_a_cycle_hidden_by_a_function_named_like_its_module() {
    let file = |path: &str, code: &str| SourceFile {
        path: path.to_owned(),
        file: PathBuf::new(),
        code: code.to_owned(),
    };
    let files = [
        file(
            "sim/mod.rs",
            "mod float; mod limit;\npub use limit::{LimitError, limit};",
        ),
        file("sim/float.rs", "use super::limit::whole_number;"),
        file("sim/limit.rs", "use super::float;"),
    ];
    assert_eq!(
        circles(&arrows_inside_rooms(&files)),
        [BTreeSet::from(["sim/float.rs", "sim/limit.rs"])]
    );
}

#[test]
fn finds_types_of_every_kind() {
    let code = "pub struct A<T>(T);\npub(crate) enum B {\n    type Inner;\n}\ntrait C {}\ntype D = A;\nlet structure = 1;";
    let file = SourceFile {
        path: "x.rs".to_owned(),
        file: PathBuf::new(),
        code: code.to_owned(),
    };
    assert_eq!(file.types().collect::<Vec<_>>(), ["A", "B", "C", "D"]);
}
