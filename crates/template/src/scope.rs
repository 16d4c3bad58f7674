//! What expressions can name: the parameters, variables and functions of one template.
//!
//! Variables and defaults are evaluated when they are first needed, once. What only other people's resources need is
//! never asked for: whoever imports the jobs of a template need not give a password for its virtual machines.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::evaluate::{Evaluation, Frame, loops_of, member};
use crate::fault::Raised;
use crate::parameters::{self, Declaration};

/// Where a deployment goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The subscription.
    pub subscription: String,
    /// The resource group.
    pub group: String,
    /// The deployment's own name: `deployment().name`.
    pub deployment: String,
}

/// What one template defines.
pub(crate) struct Scope<'a> {
    pub(crate) place: Place,
    parameters: HashMap<String, Declaration<'a>>,
    variables: HashMap<String, Variable<'a>>,
    functions: HashMap<(String, String), Function<'a>>,
    known: RefCell<HashMap<(Sort, String), Slot>>,
}

struct Variable<'a> {
    at: String,
    source: &'a Value,
    /// Whether the source is a loop.
    repeats: bool,
}

/// A function of the template's own.
pub(crate) struct Function<'a> {
    pub(crate) parameters: Vec<&'a str>,
    pub(crate) output: &'a Value,
    pub(crate) at: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sort {
    Parameter,
    Variable,
}

enum Slot {
    UnderWay,
    Done(Rc<Value>),
    Failed,
}

impl<'a> Scope<'a> {
    /// The scope of a template at a path, with what was given for its parameters.
    pub(crate) fn new(
        evaluation: &mut Evaluation,
        template: &'a Value,
        at: &str,
        place: Place,
        given: HashMap<String, parameters::Given>,
    ) -> Self {
        let mut scope = Self {
            place,
            parameters: parameters::declarations(evaluation, template, at),
            variables: variables(evaluation, template, at),
            functions: functions(evaluation, template, at),
            known: RefCell::default(),
        };
        scope.take(evaluation, given);
        scope
    }

    /// Takes what was given for the parameters: it is judged even where nobody needs it.
    fn take(&mut self, evaluation: &mut Evaluation, given: HashMap<String, parameters::Given>) {
        let mut given: Vec<_> = given.into_iter().collect();
        given.sort_by(|one, other| one.1.at.cmp(&other.1.at));
        for (name, given) in given {
            let Some(declaration) = self.parameters.get(&name) else {
                let mut names: Vec<&str> =
                    self.parameters.values().map(|declaration| declaration.name).collect();
                names.sort_unstable();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                evaluation.faults.add(given.at, format!("the template has no such parameter; it has {has}"));
                continue;
            };
            let slot = match declaration.check(evaluation, given.value, &given.at) {
                Some(value) => Slot::Done(Rc::new(value)),
                None => Slot::Failed,
            };
            self.known.get_mut().insert((Sort::Parameter, name), slot);
        }
    }

    pub(crate) fn function(&self, namespace: &str, name: &str) -> Option<&Function<'a>> {
        self.functions.get(&(namespace.to_lowercase(), name.to_lowercase()))
    }

    pub(crate) fn parameter(
        &self,
        evaluation: &mut Evaluation,
        name: &str,
        column: usize,
    ) -> Result<Rc<Value>, Raised> {
        self.look_up(evaluation, Sort::Parameter, name, column, |evaluation, key| {
            let declaration = self.parameters.get(key)?;
            let Some(default) = declaration.default() else {
                let problem = "the parameter has no value; give one, or a defaultValue here";
                evaluation.faults.add(declaration.at.clone(), problem);
                return None;
            };
            let at = member(&declaration.at, "defaultValue");
            let value = evaluation.value(self.frame(), default, &at)?;
            declaration.check(evaluation, value, &at)
        })
    }

    pub(crate) fn variable(
        &self,
        evaluation: &mut Evaluation,
        name: &str,
        column: usize,
    ) -> Result<Rc<Value>, Raised> {
        self.look_up(evaluation, Sort::Variable, name, column, |evaluation, key| {
            let variable = self.variables.get(key)?;
            if variable.repeats {
                return evaluation
                    .repeated(self.frame(), variable.source, &variable.at)
                    .map(|(_, list)| list);
            }
            evaluation.value(self.frame(), variable.source, &variable.at)
        })
    }

    /// Where nothing is repeated.
    pub(crate) fn frame(&self) -> Frame<'_, 'a> {
        Frame { scope: self, target: &self.place, loops: &[], arguments: None }
    }

    fn look_up(
        &self,
        evaluation: &mut Evaluation,
        sort: Sort,
        name: &str,
        column: usize,
        evaluate: impl FnOnce(&mut Evaluation, &str) -> Option<Value>,
    ) -> Result<Rc<Value>, Raised> {
        let key = name.to_lowercase();
        let is_there = match sort {
            Sort::Parameter => self.parameters.contains_key(&key),
            Sort::Variable => self.variables.contains_key(&key),
        };
        let word = if sort == Sort::Parameter { "parameter" } else { "variable" };
        if !is_there {
            let problem = format!("the template has no {word} '{name}'");
            return Err(Raised::Wrong { column, problem });
        }
        match self.known.borrow().get(&(sort, key.clone())) {
            Some(Slot::Done(value)) => return Ok(value.clone()),
            Some(Slot::Failed) => return Err(Raised::Known),
            Some(Slot::UnderWay) => {
                let problem = format!("the {word} '{name}' needs its own value to have one");
                return Err(Raised::Wrong { column, problem });
            }
            None => {}
        }
        self.known.borrow_mut().insert((sort, key.clone()), Slot::UnderWay);
        let value = evaluate(evaluation, &key).map(Rc::new);
        let slot = value.clone().map_or(Slot::Failed, Slot::Done);
        self.known.borrow_mut().insert((sort, key), slot);
        value.ok_or(Raised::Known)
    }
}

fn variables<'a>(
    evaluation: &mut Evaluation,
    template: &'a Value,
    at: &str,
) -> HashMap<String, Variable<'a>> {
    let at = member(at, "variables");
    let mut variables = HashMap::new();
    let members = match template.get("variables") {
        None | Some(Value::Null) => return variables,
        Some(Value::Object(members)) => members,
        Some(_) => {
            evaluation.faults.add(at, "allowed: an object of variables");
            return variables;
        }
    };
    let mut add = |name: &str, variable: Variable<'a>| {
        let at = variable.at.clone();
        if variables.insert(name.to_lowercase(), variable).is_some() {
            evaluation.faults.add(at, "there is another variable of this name");
        }
    };
    for (name, source) in members {
        let at = member(&at, name);
        let Some(loops) = loops_of(name, source) else {
            add(name, Variable { at, source, repeats: false });
            continue;
        };
        for (i, source) in loops.iter().enumerate() {
            let name = source.get("name").and_then(Value::as_str).unwrap_or_default();
            add(name, Variable { at: format!("{at}[{i}]"), source, repeats: true });
        }
    }
    variables
}

fn functions<'a>(
    evaluation: &mut Evaluation,
    template: &'a Value,
    at: &str,
) -> HashMap<(String, String), Function<'a>> {
    let at = member(at, "functions");
    let mut functions = HashMap::new();
    let spaces = match template.get("functions") {
        None | Some(Value::Null) => return functions,
        Some(Value::Array(spaces)) => spaces,
        Some(_) => {
            evaluation.faults.add(at, "allowed: an array of {\"namespace\": …, \"members\": {…}}");
            return functions;
        }
    };
    for (i, space) in spaces.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let namespace = space.get("namespace").and_then(Value::as_str);
        let members = space.get("members").and_then(Value::as_object);
        let (Some(namespace), Some(members)) = (namespace, members) else {
            evaluation.faults.add(at, "allowed: an object with a namespace, a text, and members, an object");
            continue;
        };
        for (name, function) in members {
            let at = member(&member(&at, "members"), name);
            let Some(output) = function.get("output").and_then(|output| output.get("value")) else {
                evaluation
                    .faults
                    .add(member(&at, "output.value"), "missing; allowed: what the function gives");
                continue;
            };
            let declared = function.get("parameters").and_then(Value::as_array);
            let names = declared.into_iter().flatten().map(|parameter| parameter.get("name")?.as_str());
            let Some(parameters) = names.collect::<Option<Vec<_>>>() else {
                evaluation.faults.add(member(&at, "parameters"), "each parameter of a function needs a name");
                continue;
            };
            let key = (namespace.to_lowercase(), name.to_lowercase());
            functions.insert(key, Function { parameters, output, at: member(&at, "output.value") });
        }
    }
    functions
}
