//! The order of resources: each after those that it depends on, and otherwise as they are written.

use std::collections::HashMap;

use crate::evaluate::Evaluation;
use crate::scope::Place;
use crate::{Resource, kind_of};

/// A resource on its way to its place in the order.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) at: String,
    /// What others may call it, in lower case.
    pub(crate) keys: Vec<String>,
    /// What it depends on, each with its path.
    pub(crate) depends: Vec<(String, String)>,
    /// What is to be written: nothing where it is left out, many where it is a deployment.
    pub(crate) resources: Vec<Resource>,
}

/// What others may call a resource: its id, its type and name, or its name alone.
pub(crate) fn keys(place: &Place, kind: &str, name: &str) -> Vec<String> {
    let Place { subscription, group, .. } = place;
    let mut types = kind.split('/');
    let mut path = types.next().unwrap_or_default().to_owned();
    for (kind, name) in types.zip(name.split('/')) {
        path += &format!("/{kind}/{name}");
    }
    let id = format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{path}");
    [id, path, format!("{kind}/{name}"), name.to_owned()].map(|key| key.to_lowercase()).into()
}

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Never,
    UnderWay,
    Done,
}

/// Sorts; what depends on something that is not there, or on itself, is a fault.
pub(crate) fn sort(evaluation: &mut Evaluation, nodes: Vec<Node>) -> Vec<Node> {
    // A name may stand for many resources, such as those of a loop. It is a point of its own, so that a thousand that
    // depend on a thousand are two thousand steps and not a million.
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        for key in &node.keys {
            let name = *names.entry(key).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[name].push(i);
        }
    }
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(nodes.len() + members.len());
    for node in &nodes {
        let mut leads = Vec::new();
        for (at, wanted) in &node.depends {
            match names.get(wanted.to_lowercase().as_str()) {
                Some(name) => leads.push(nodes.len() + name),
                None if is_ours(wanted) => {
                    let problem = format!("there is no resource \"{wanted}\" in the template");
                    evaluation.faults.add(at.clone(), problem);
                }
                // Whether other people's resources are there is other people's business.
                None => {}
            }
        }
        edges.push(leads);
    }
    edges.extend(members);

    let mut visits = vec![Visit::Never; edges.len()];
    let mut order = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        // The points on the way, each with how many of its edges were followed.
        let mut way = vec![(start, 0)];
        while let Some((point, followed)) = way.pop() {
            if followed == 0 && visits[point] != Visit::Never {
                continue;
            }
            visits[point] = Visit::UnderWay;
            let Some(&next) = edges[point].get(followed) else {
                visits[point] = Visit::Done;
                order.extend((point < nodes.len()).then_some(point));
                continue;
            };
            way.push((point, followed + 1));
            match visits[next] {
                Visit::Never => way.push((next, 0)),
                Visit::Done => {}
                Visit::UnderWay => {
                    let at =
                        nodes.get(point).or_else(|| nodes.get(next)).map_or("resources", |node| &node.at);
                    evaluation
                        .faults
                        .add(format!("{at}.dependsOn"), "the resource depends on itself in the end");
                }
            }
        }
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    order.into_iter().filter_map(|i| nodes[i].take()).collect()
}

/// Whether a dependency names something that this template should have: a resource of our types, or a bare name.
fn is_ours(wanted: &str) -> bool {
    let path = match wanted.to_lowercase().split_once("/providers/") {
        Some((_, path)) => path.to_owned(),
        None => wanted.to_lowercase(),
    };
    let Some((namespace, rest)) = path.split_once('/') else { return true };
    if !namespace.contains('.') {
        return true;
    }
    // The types are every other segment in an id, and come first in other spellings.
    let types: Vec<&str> = rest.split('/').collect();
    let every_other: Vec<&str> = types.iter().step_by(2).copied().collect();
    kind_of(&format!("{namespace}/{}", every_other.join("/"))).is_some()
        || types.first().is_some_and(|first| kind_of(&format!("{namespace}/{first}")).is_some())
}
