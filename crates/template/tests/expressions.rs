//! The expression language, as a table: what is written, and what it gives.

use serde_json::{Value, json};
use template::{Input, Place, Uuid, read};

/// Evaluates an expression as an output of a template.
fn evaluate(expression: &str) -> Result<Value, String> {
    let document = json!({
        "parameters": {
            "name": {"type": "string", "defaultValue": "Billing"},
            "list": {"type": "array", "defaultValue": [1, 2, 3]},
            "config": {"type": "object", "defaultValue": {"Jobs": [{"name": "first"}, {"name": "second"}]}},
        },
        "variables": {
            "base": "[concat(parameters('name'), '-jobs')]",
            "copy": [{"name": "names", "count": 3, "input": "[concat('job', copyIndex('names', 1))]"}],
        },
        "functions": [{"namespace": "ns", "members": {"twice": {
            "parameters": [{"name": "text", "type": "string"}],
            "output": {"type": "string", "value": "[concat(parameters('text'), parameters('text'))]"},
        }}}],
        "resources": [],
        "outputs": {"it": {"type": "string", "value": expression}},
    });
    let input = Input {
        document: &document,
        parameters: None,
        place: Place { subscription: "sub".into(), group: "grp".into(), deployment: "dep".into() },
        now: "2027-03-04T05:06:07.5Z".parse().expect("a time"),
        seed: Uuid::nil(),
    };
    match read(&input) {
        Ok(deployment) => match deployment.outputs.get("it") {
            Some(value) => Ok(value.clone()),
            None => Err(deployment.notes.join("\n")),
        },
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
fn values() {
    for (expression, value) in [
        // What is no expression.
        ("text", json!("text")),
        ("[[text]", json!("[text]")),
        ("[text", json!("[text")),
        // Names.
        ("[parameters('NAME')]", json!("Billing")),
        ("[variables('Base')]", json!("Billing-jobs")),
        ("[variables('names')]", json!(["job1", "job2", "job3"])),
        ("[variables('names')[1]]", json!("job2")),
        ("[parameters('config').jobs[1].name]", json!("second")),
        ("[parameters('config')['Jobs'][0]['name']]", json!("first")),
        ("[ns.twice('ab')]", json!("abab")),
        ("[ NS.Twice( 'it''s ' ) ]", json!("it's it's ")),
        // Texts.
        ("[concat('a', 1, true(), 'b')]", json!("a1Trueb")),
        ("[concat(createArray(1), createArray(2, 3))]", json!([1, 2, 3])),
        ("[toLower('ÄB')]", json!("äb")),
        ("[toUpper('äb')]", json!("ÄB")),
        ("[trim('  x ')]", json!("x")),
        ("[substring('abcdef', 2)]", json!("cdef")),
        ("[substring('äbcdef', 1, 2)]", json!("bc")),
        ("[substring('abc', 3, 0)]", json!("")),
        ("[replace('a-b-c', '-', '+')]", json!("a+b+c")),
        ("[split('a,b;c', createArray(',', ';'))]", json!(["a", "b", "c"])),
        ("[split('a,b', ',')]", json!(["a", "b"])),
        ("[join(createArray('a', 'b'), '/')]", json!("a/b")),
        ("[length('äbc')]", json!(3)),
        ("[length(parameters('list'))]", json!(3)),
        ("[length(parameters('config'))]", json!(1)),
        ("[indexOf('abcB', 'B')]", json!(1)),
        ("[lastIndexOf('abcB', 'b')]", json!(3)),
        ("[indexOf('abc', 'x')]", json!(-1)),
        ("[indexOf(createArray('a', 'b'), 'b')]", json!(1)),
        ("[startsWith('Abc', 'aB')]", json!(true)),
        ("[endsWith('abC', 'bc')]", json!(true)),
        ("[endsWith('abc', 'x')]", json!(false)),
        ("[padLeft('7', 3, '0')]", json!("007")),
        ("[padLeft(7, 3)]", json!("  7")),
        ("[padLeft('long', 2)]", json!("long")),
        ("[format('{0}-{1}-{{{0}}}', 'a', 5)]", json!("a-5-{a}")),
        ("[format('{0:D3}|{0:000}|{1:X2}|{0,4}|{0,-4}|', 7, 10)]", json!("007|007|0A|   7|7   |")),
        ("[string(5)]", json!("5")),
        ("[string(true())]", json!("True")),
        ("[string(createObject('a', 1))]", json!("{\"a\":1}")),
        ("[base64('one')]", json!("b25l")),
        ("[base64ToString('b25l')]", json!("one")),
        ("[base64ToJson(base64('{\"a\":1}'))]", json!({"a": 1})),
        ("[json('{\"a\": [1, null]}')]", json!({"a": [1, null]})),
        ("[json('{\"a\": [1, null]}').a[0]]", json!(1)),
        ("[uri('https://example.org/a/b', 'c')]", json!("https://example.org/a/c")),
        ("[uri('https://example.org/a/', '/c?x=1')]", json!("https://example.org/c?x=1")),
        ("[uriComponent('a b/c~')]", json!("a%20b%2Fc~")),
        ("[uriComponentToString('a%20b%2Fc')]", json!("a b/c")),
        ("[dataUri('one')]", json!("data:text/plain;charset=utf8;base64,b25l")),
        ("[uniqueString('hello', 'world')]", json!("a7wkljktk6wne")),
        ("[guid('a')]", json!("3703365d-5a9f-59b4-bca7-b9681389e4c1")),
        // Lists and objects.
        ("[empty('')]", json!(true)),
        ("[empty(createArray())]", json!(true)),
        ("[empty(null())]", json!(true)),
        ("[empty(parameters('list'))]", json!(false)),
        ("[first(parameters('list'))]", json!(1)),
        ("[last('abc')]", json!("c")),
        ("[first('')]", json!("")),
        ("[take(parameters('list'), 2)]", json!([1, 2])),
        ("[take('abc', 9)]", json!("abc")),
        ("[skip('abc', 1)]", json!("bc")),
        ("[skip(parameters('list'), -1)]", json!([1, 2, 3])),
        ("[contains('abc', 'b')]", json!(true)),
        ("[contains(parameters('list'), 4)]", json!(false)),
        ("[contains(parameters('config'), 'JOBS')]", json!(true)),
        ("[array('a')]", json!(["a"])),
        ("[array(createArray('a'))]", json!(["a"])),
        ("[createObject('a', 1, 'b', createArray())]", json!({"a": 1, "b": []})),
        ("[union(createArray(1, 2), createArray(2, 3))]", json!([1, 2, 3])),
        (
            "[union(json('{\"a\":{\"x\":1},\"b\":1}'), json('{\"a\":{\"y\":2},\"b\":2}'))]",
            json!({"a": {"x": 1, "y": 2}, "b": 2}),
        ),
        ("[intersection(createArray(1, 2, 3), createArray(3, 2))]", json!([2, 3])),
        ("[intersection(json('{\"a\":1,\"b\":2}'), json('{\"a\":1,\"b\":3}'))]", json!({"a": 1})),
        ("[range(3, 4)]", json!([3, 4, 5, 6])),
        ("[min(5, 3, 4)]", json!(3)),
        ("[max(parameters('list'))]", json!(3)),
        // Numbers and truth.
        ("[add(1, -2)]", json!(-1)),
        ("[sub(1, 2)]", json!(-1)),
        ("[mul(3, 4)]", json!(12)),
        ("[div(7, 2)]", json!(3)),
        ("[mod(7, 2)]", json!(1)),
        ("[int('5')]", json!(5)),
        ("[bool('True')]", json!(true)),
        ("[bool(0)]", json!(false)),
        ("[if(equals(1, 1), 'yes', 'no')]", json!("yes")),
        ("[if(false(), nonsense('x'), 'no')]", json!("no")),
        ("[and(true(), not(false()), or(false(), true()))]", json!(true)),
        ("[equals(createArray(1), createArray(1))]", json!(true)),
        ("[less(1, 2)]", json!(true)),
        ("[lessOrEquals('a', 'a')]", json!(true)),
        ("[greater('b', 'a')]", json!(true)),
        ("[greaterOrEquals(1, 2)]", json!(false)),
        ("[coalesce(null(), 'x', 'y')]", json!("x")),
        // Times.
        ("[utcNow()]", json!("20270304T050607Z")),
        ("[utcNow('u')]", json!("2027-03-04 05:06:07Z")),
        ("[utcNow('yyyy-MM-dd''T''HH:mm')]", json!("2027-03-04T05:06")),
        ("[utcNow('yyyy-M-d H:m:s.ff dddd')]", json!("2027-3-4 5:6:7.50 Thursday")),
        ("[dateTimeAdd('2027-01-31T00:00:00Z', 'P1M')]", json!("2027-03-02T00:00:00Z")),
        ("[dateTimeAdd('2027-01-01T00:00:00Z', 'P1Y')]", json!("2028-01-01T00:00:00Z")),
        ("[dateTimeAdd('2027-01-01 00:00:00Z', '-PT1H30M')]", json!("2026-12-31 22:30:00Z")),
        ("[dateTimeAdd(utcNow(), 'P1D')]", json!("20270305T050607Z")),
        ("[dateTimeAdd('2027-01-01T00:00:00Z', 'P7D', 'yyyy-MM-dd')]", json!("2027-01-08")),
        // What is around.
        ("[subscription().subscriptionId]", json!("sub")),
        ("[resourceGroup().name]", json!("grp")),
        ("[resourceGroup().location]", json!("Local")),
        ("[deployment().name]", json!("dep")),
        (
            "[resourceId('Microsoft.Scheduler/jobCollections/jobs', 'c', 'j')]",
            json!(
                "/subscriptions/sub/resourceGroups/grp/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"
            ),
        ),
        (
            "[resourceId('s2', 'g2', 'Microsoft.Scheduler/jobCollections', 'c')]",
            json!("/subscriptions/s2/resourceGroups/g2/providers/Microsoft.Scheduler/jobCollections/c"),
        ),
    ] {
        assert_eq!(evaluate(expression), Ok(value), "{expression}");
    }
}

#[test]
fn faults_say_where_and_what() {
    for (expression, words) in [
        ("[nonsense('x')]", "outputs.it.value, column 2: nonsense is not a function"),
        ("[concat('a', nonsense())]", "column 14: nonsense"),
        ("[parameters('other')]", "column 13: the template has no parameter 'other'"),
        ("[variables('other')]", "the template has no variable 'other'"),
        ("[variables(5)]", "column 12: argument 1 of variables is a number; allowed: a string"),
        ("[parameters('config').size]", "column 2: the object has no member size; it has Jobs"),
        ("[parameters('list')[3]]", "there is no [3] in an array of 3"),
        ("[parameters('list').length]", "only objects have members"),
        ("[parameters('name')[0]]", "arrays take whole numbers"),
        ("[toLower()]", "toLower has 0 arguments; allowed: 1"),
        ("[substring('abc', 2, 2)]", "column 22: 2 is out of reach; allowed: a whole number from 0 to 1"),
        ("[padLeft('x', 999999999)]", "the width is a whole number"),
        ("[replace('a', '', 'b')]", "nothing to replace"),
        ("[format('{1}', 'a')]", "{1} stands for none of the 1 values"),
        ("[format('{0')]", "a brace is open"),
        ("[format('{0:C}', 5)]", "a form that is not known"),
        ("[json('{')]", "not JSON"),
        ("[base64ToString('%%')]", "not Base64"),
        ("[uri('nowhere', 'c')]", "not an absolute URI"),
        ("[int('five')]", "cannot be a whole number"),
        ("[bool('yes')]", "cannot be a bool"),
        ("[add(9223372036854775807, 1)]", "no whole number of 64 bits"),
        ("[div(1, 0)]", "no whole number of 64 bits"),
        ("[div(-9223372036854775808, -1)]", "no whole number of 64 bits"),
        ("[range(0, 10001)]", "from 0 to 10000"),
        ("[range(9223372036854775807, 2)]", "not allowed here"),
        ("[if('yes', 1, 2)]", "the first argument of if is a string; allowed: a bool"),
        ("[if(true())]", "if has 1 arguments; allowed: 3"),
        ("[less(1, 'a')]", "argument 2 of less is a string"),
        ("[createObject('a')]", "a value is missing"),
        ("[first(createArray())]", "empty array"),
        ("[copyIndex()]", "stands in no such loop"),
        ("[dateTimeAdd('yesterday', 'P1D')]", "not an ISO 8601 date-time"),
        ("[dateTimeAdd('2027-01-01T00:00:00Z', '1 day')]", "not an ISO 8601 duration"),
        ("[dateTimeAdd('2027-01-01T00:00:00Z', 'P9999Y')]", "beyond the years"),
        ("[utcNow('q')]", "the form is not known"),
        ("[resourceId('c', 'j')]", "no resource type"),
        (
            "[resourceId('Microsoft.Scheduler/jobCollections', 'c', 'j')]",
            "has 1 names to be given; there are 2",
        ),
        ("[ns.other('a')]", "the template has no function ns.other"),
        ("[ns.twice('a', 'b')]", "ns.twice has 2 arguments; allowed: 1"),
        ("[reference('x').y]", "asks a running Azure; make what it gives a parameter"),
        ("[listKeys('x', '2016-01-01').keys[0]]", "listKeys() asks a running Azure"),
        ("[union(createArray(), 'a')]", "argument 2 of union is a string; allowed: an array"),
    ] {
        match evaluate(expression) {
            Err(fault) => assert!(fault.contains(words), "{expression}: {fault}"),
            Ok(value) => panic!("{expression} gave {value}"),
        }
    }
}
