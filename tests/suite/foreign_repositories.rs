//! Untrusted repositories: `compare REVISION:PATH` reads their objects, but starts no program named in their
//! configuration, and makes no connection.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use tempfile::TempDir;

use super::common::{fleetsim, folder_with, git, has_git, text};

const EXPERIMENT: &str = "
name: small
replicates: 2
horizon: 2h
fleet: [{name: 'edge-{1..3}', nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
release:
  images: [{name: shop, manifest: shop.json}]
  workloads: [{kind: Deployment, image: shop}]
strategies: {bound: {allAtOnce: {}}}
";

const MANIFEST: &str = "{\"layers\": [{\"digest\": \"sha256:a\", \"size\": 10000000}]}\n";

/// A folder with a repository `source`, whose `main` has the experiment `shop`; the experiment itself as `shop`; and a
/// program `evil`, which creates a file `started`.
struct Home(TempDir);

impl Home {
    fn new() -> Option<Self> {
        if !has_git() {
            return None;
        }
        let home = folder_with(&[("evil", "#!/bin/sh\ntouch \"$(dirname \"$0\")/started\"\n")]);
        let at = home.path();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at.join("evil"), executable).expect("set");
        for folder in ["shop", "source/shop"] {
            fs::create_dir_all(at.join(folder)).expect("made");
            fs::write(at.join(folder).join("experiment.yaml"), EXPERIMENT).expect("written");
            fs::write(at.join(folder).join("shop.json"), MANIFEST).expect("written");
        }
        let source = at.join("source");
        git(&source, &["init", "--quiet"]);
        git(&source, &["config", "uploadpack.allowFilter", "true"]);
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "--message", "x"]);
        Some(Self(home))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates a clone without files, in the folder `name`.
    fn partial_clone(&self, name: &str, options: &[&str]) -> PathBuf {
        let url = format!("file://{}", self.path("source").display());
        let mut arguments = vec!["clone", "--quiet", "--filter=blob:none"];
        arguments.extend(options);
        arguments.extend([url.as_str(), name]);
        git(self.0.path(), &arguments);
        self.path(name)
    }

    /// Changes the repository's configuration so that each program that a fetch would start is the evil one.
    fn poison(&self, git_folder: &Path, url: &str) {
        let evil = self.path("evil").display().to_string();
        let config = git_folder.join("config").display().to_string();
        for (key, value) in [
            ("remote.origin.url", url),
            ("remote.origin.uploadpack", &evil),
            ("remote.origin.promisor", "true"),
            ("core.sshCommand", &evil),
            ("core.gitProxy", &evil),
            ("core.alternateRefsCommand", &evil),
            ("core.fsmonitor", &evil),
            ("core.askPass", &evil),
            ("core.pager", &evil),
            ("core.editor", &evil),
            ("credential.helper", &evil),
            ("diff.external", &evil),
            ("diff.x.textconv", &evil),
            ("filter.x.smudge", &evil),
            ("filter.x.clean", &evil),
            ("filter.x.process", &evil),
            ("gpg.program", &evil),
            ("pager.cat-file", &evil),
            ("protocol.allow", "always"),
            ("protocol.file.allow", "always"),
            ("protocol.ext.allow", "always"),
        ] {
            git(self.0.path(), &["config", "--file", &config, key, value]);
        }
    }

    /// The output of `compare`, and its exit code. Asserts that no program was started.
    #[track_caller]
    fn compared(&self, folder: &Path, arguments: &[&str]) -> (String, i32) {
        let output = fleetsim(folder)
            .arg("compare")
            .args(arguments)
            .output()
            .expect("run");
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(
            !self.path("started").exists(),
            "{arguments:?} started a program: {printed}"
        );
        (printed, output.status.code().expect("it ends"))
    }
}

#[test]
fn a_bare_repository_inside_a_clone_is_ignored() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    let inner = home.partial_clone("source/inner", &["--bare"]);
    home.poison(&inner, &format!("file://{}", source.display()));
    // The file is needed because a repository does not store empty folders.
    fs::write(inner.join("refs/heads/.keep"), "").expect("written");
    git(&source, &["add", "--force", "inner"]);
    git(&source, &["commit", "--quiet", "--message", "inner"]);
    git(home.0.path(), &["clone", "--quiet", "source", "clone"]);
    let clone = home.path("clone/inner");
    let discovered = git(&clone, &["rev-parse", "--absolute-git-dir"]);
    assert!(
        discovered.ends_with("/inner"),
        "git itself takes it: {discovered}"
    );
    // The revision is looked up in the clone, and the path is relative to the current folder.
    let (printed, code) = home.compared(&clone, &["main:shop", "../shop"]);
    assert_eq!(code, 2, "{printed}");
    let no_file = "there is no file or folder `inner/shop` in the revision `main`";
    assert!(printed.contains(no_file), "{printed}");
    let (printed, code) = home.compared(&clone, &["main:../shop", "../shop"]);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn objects_that_a_partial_clone_lacks_are_not_fetched() {
    let Some(home) = Home::new() else { return };
    let file = format!("file://{}", home.path("source").display());
    let evil = format!("ext::{}", home.path("evil").display());
    for (number, url) in [
        &file,
        "ssh://example.invalid/x",
        "git://127.0.0.1:1/x",
        &evil,
    ]
    .into_iter()
    .enumerate()
    {
        let clone = home.partial_clone(&format!("clone-{number}"), &["--no-checkout"]);
        home.poison(&clone.join(".git"), url);
        // Permissions in the user's environment are ignored too.
        let output = fleetsim(&clone)
            .args(["compare", "main:shop", "../shop"])
            .envs([
                ("GIT_NO_LAZY_FETCH", "0"),
                ("GIT_ALLOW_PROTOCOL", "file:ssh:ext:git"),
            ])
            .output()
            .expect("run");
        let printed = text(&output.stderr);
        assert!(!home.path("started").exists(), "{url}: {printed}");
        assert_eq!(output.status.code(), Some(2), "{url}: {printed}");
        assert!(
            printed.contains("main:shop/experiment.yaml")
                && printed.contains("its content is not in this clone; fetch it with"),
            "{url}: {printed}"
        );
    }
}

#[test]
fn a_configuration_starts_no_program_if_objects_are_present() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    fs::write(
        source.join(".git/info/attributes"),
        "* filter=x diff=x text=auto\n",
    )
    .expect("written");
    home.poison(&source.join(".git"), "ssh://example.invalid/x");
    let hooks = source.join("hooks");
    fs::create_dir(&hooks).expect("made");
    for hook in ["post-index-change", "reference-transaction", "pre-auto-gc"] {
        fs::copy(home.path("evil"), hooks.join(hook)).expect("copied");
    }
    git(
        home.0.path(),
        &["-C", "source", "config", "core.hooksPath", "hooks"],
    );
    let (printed, code) = home.compared(&source, &["main:shop", "../shop"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("No setting differs."), "{printed}");
    // To report the error, the program asks git about the file.
    fs::write(source.join("shop/shop.json"), "{\"auths\": {}}\n").expect("written");
    let (printed, code) = home.compared(&source, &["main:shop", "shop"]);
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("1 | {\"auths\": {}}"), "{printed}");
}

/// The object contains only the size of the file; `git cat-file blob` would allocate that much memory.
#[test]
fn a_file_of_6_gb_in_a_revision_is_not_read() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    let object = "ab".repeat(20);
    let folder = source.join(".git/objects").join(&object[..2]);
    fs::create_dir_all(&folder).expect("made");
    let file = fs::File::create(folder.join(&object[2..])).expect("created");
    let mut packed = ZlibEncoder::new(file, Compression::default());
    packed.write_all(b"blob 6000000000\0{").expect("written");
    packed.finish().expect("written");
    let entry = format!("100644,{object},shop/shop.json");
    git(&source, &["update-index", "--cacheinfo", &entry]);
    let tree = git(&source, &["write-tree", "--missing-ok"]);
    let commit = git(&source, &["commit-tree", "-m", "large", &tree]);
    git(&source, &["update-ref", "refs/heads/large", &commit]);
    let (printed, code) = home.compared(&source, &["large:shop", "../shop"]);
    assert_eq!(code, 2, "{printed}");
    let refused = "cannot read `shop.json`: it has more than 256000000 bytes";
    assert!(printed.contains(refused), "{printed}");
}

#[test]
fn an_experiment_of_a_revision_only_reads_files_of_that_revision() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    let secret = home.path("creds.json");
    fs::write(&secret, "s3cr3t").expect("written");
    symlink(&secret, source.join("shop/link.json")).expect("linked");
    let absolute = secret.display().to_string();
    for (named, part) in [
        (absolute.as_str(), "only files of the revision are read"),
        (
            "../../creds.json",
            "`shop/../../creds.json` is outside the repository",
        ),
        (
            "link.json",
            "it is a link, and links of a revision are not followed",
        ),
        ("..", "it is a folder, not a file"),
        (
            "none.json",
            "there is no file or folder `shop/none.json` in the revision `HEAD`",
        ),
    ] {
        let experiment = EXPERIMENT.replace("shop.json", named);
        fs::write(source.join("shop/experiment.yaml"), experiment).expect("written");
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "--message", named]);
        let (printed, code) = home.compared(&source, &["HEAD:shop", "../shop"]);
        assert_eq!(code, 2, "{named}: {printed}");
        assert!(
            printed.contains(&format!("cannot read `{named}`: {part}")),
            "{named}: {printed}"
        );
        assert!(!printed.contains("s3cr3t"), "{named}: {printed}");
    }
}

#[test]
fn a_folder_with_the_name_of_a_revision_does_not_replace_it() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    // The change under review makes the image larger, and adds a copy of it at the path of the old version.
    let larger = MANIFEST.replace("10000000", "900000000");
    for folder in ["shop", "HEAD:shop"] {
        fs::create_dir_all(source.join(folder)).expect("made");
        fs::write(source.join(folder).join("experiment.yaml"), EXPERIMENT).expect("written");
        fs::write(source.join(folder).join("shop.json"), &larger).expect("written");
    }
    let (printed, code) = home.compared(&source, &["HEAD:shop", "shop"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("10 MB") && printed.contains("900 MB"),
        "{printed}"
    );
    // A path that looks like a revision is written with `./`.
    let (printed, _) = home.compared(&source, &["./HEAD:shop", "shop"]);
    assert!(!printed.contains("10 MB"), "{printed}");
}

#[test]
fn git_replacements_of_objects_are_ignored() {
    let Some(home) = Home::new() else { return };
    let source = home.path("source");
    let old = git(&source, &["rev-parse", "HEAD:shop/shop.json"]);
    let larger = MANIFEST.replace("10000000", "900000000");
    fs::write(source.join("other.json"), larger).expect("written");
    let new = git(&source, &["hash-object", "-w", "other.json"]);
    git(&source, &["replace", old.trim(), new.trim()]);
    let (printed, code) = home.compared(&source, &["HEAD:shop", "../shop"]);
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("900 MB"), "{printed}");
}
