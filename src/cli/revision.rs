//! Files of a revision of a git repository: `main:rollouts/shop`. The `git` program reads them from the objects of the
//! repository that the current folder is in; nothing is checked out, and the work tree stays as it is.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of an experiment in a revision, if the text is `REVISION:PATH` and the revision exists. The path is a
/// folder with an `experiment.yaml`, or the file, relative to the current folder.
pub(super) fn experiment(place: &Path) -> Option<PathBuf> {
    let (revision, _) = place.to_str()?.split_once(':')?;
    // `C:\rollout` of Windows is a path, and an option is none.
    if place.exists() || revision.len() < 2 || revision.starts_with('-') {
        return None;
    }
    git(&[
        "rev-parse",
        "--quiet",
        "--verify",
        &format!("{revision}^{{commit}}"),
    ])
    .ok()?;
    let is_folder =
        git(&["cat-file", "-t", &object(place)]).is_ok_and(|kind| kind.starts_with(b"tree"));
    Some(if is_folder {
        place.join("experiment.yaml")
    } else {
        place.to_owned()
    })
}

/// Reads `REVISION:PATH`.
pub(super) fn open(place: &Path) -> Result<Vec<u8>, String> {
    git(&["cat-file", "blob", &object(place)])
}

/// The name by which git knows the place: relative to the current folder, without `.` and `..` inside.
fn object(place: &Path) -> String {
    let text = place.to_string_lossy().replace('\\', "/");
    let (revision, path) = text.split_once(':').unwrap_or((&text, ""));
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => {
                _ = parts.pop()
            }
            Component::ParentDir => parts.push(".."),
            Component::Normal(name) => parts.extend(name.to_str()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    // `../x` is relative to the current folder as it is.
    let start = if parts.first() == Some(&"..") {
        ""
    } else {
        "./"
    };
    format!("{revision}:{start}{}", parts.join("/"))
}

/// The output of git, or its error in one line.
fn git(arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("cannot start git: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let line = error.lines().next().unwrap_or("git failed");
    Err(line.trim_start_matches("fatal: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_as_git_names_it() {
        let cases = [
            ("main:rollouts/shop/../v1.json", "main:./rollouts/v1.json"),
            ("v1.2:./a", "v1.2:./a"),
            ("HEAD~1:../b/./c", "HEAD~1:../b/c"),
            ("HEAD:", "HEAD:./"),
        ];
        for (place, object_name) in cases {
            assert_eq!(object(Path::new(place)), object_name, "{place}");
        }
    }
}
