//! Jobs on vehicles (areas §10.11): boards, stages and tasks, documents, purchases, events and lists.

use std::time::Duration;

use harness::{Client, Engine, Shop, acme, both_engines, today, wait_for};
use serde_json::{Value, json};

use crate::vehicle_documents::holds;
use crate::vehicle_media::{PDF, base64};

both_engines! {
    a_board_is_applied_by_hand
    boards_are_applied_to_every_new_vehicle_of_their_type
    a_body_is_judged_before_the_records
    a_board_is_open_once_on_a_vehicle
    a_job_changes
    stages_are_added_moved_and_removed
    a_stage_is_done_by_its_tasks_or_by_its_status
    bounds_are_named
    documents_are_kept_with_a_job
    a_purchase_that_does_not_exist_is_not_linked
    what_does_not_exist_is_named
    a_write_compares_the_version_of_the_job
    what_happens_to_a_job_is_reported
    events_need_the_scope_of_jobs
    a_deleted_vehicle_loses_its_jobs_in_silence
    each_filter_alone_and_with_others
    businesses_are_apart
    an_erased_supplier_leaves_no_trace
    a_change_of_the_file_changes_no_job
}

const TIMEOUT: Duration = Duration::from_secs(60);
const SIMPLE: [&str; 14] = [
    "automatic",
    "board",
    "created",
    "description",
    "due",
    "id",
    "name",
    "progress",
    "staff",
    "stage",
    "status",
    "updated",
    "vehicle",
    "version",
];

/// Opens a dealership with boards of its own.
async fn yard(engine: Engine) -> Shop {
    let Shop { server, .. } = Shop::open(engine).await;
    let mut file = acme();
    file["tag"] = json!("yard");
    file["job_boards"] = json!([
        {"id": 5, "name": "Extra", "apply": [], "stages": []},
        {"id": 3, "tag": "prep", "name": "Preparation", "description": "Before sale", "apply": ["s", "t"], "stages": [
            {"name": "Workshop", "tasks": ["MOT", "Service"]},
            {"name": "Photos", "tasks": ["Take 20"]},
        ]},
        {"id": 1, "name": "Advert", "apply": ["s"], "stages": [{"name": "Text", "tasks": []}]},
        {"id": 4, "name": "Courtesy", "apply": [], "stages": [{"name": "Clean", "tasks": ["Inside", "Outside"]}]},
    ]);
    let business = server.installation().business(&file).await;
    let api = server.client(&business.key("all").await.token);
    Shop { server, business, api }
}

/// Creates a vehicle without automatic jobs; returns the path of its jobs.
async fn vehicle(shop: &Shop) -> String {
    vehicle_of(shop, "courtesy").await
}

async fn vehicle_of(shop: &Shop, kind: &str) -> String {
    let vehicle = shop.api.post("/2.0/vehicles", &json!({"type": kind})).await.created();
    format!("/2.0/vehicles/{}/jobs", vehicle["id"])
}

/// Opens a job; returns it and its path.
async fn job(shop: &Shop, jobs: &str, board: i64) -> (Value, String) {
    let job = shop.api.post(jobs, &json!({"board": board})).await.created();
    let path = format!("{jobs}/{}", job["id"]);
    (job, path)
}

#[track_caller]
fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn names(job: &Value) -> Vec<&str> {
    let stages = job["stages"].as_array().unwrap().iter();
    stages.map(|stage| stage["name"].as_str().unwrap()).collect()
}

/// Returns the events so far, as `(name, data)`.
async fn recorded(client: &Client) -> Vec<(String, Value)> {
    let events = client.walk("/2.0/events").await.into_iter();
    events
        .map(|mut event| (event["event"].as_str().unwrap().to_owned(), event["data"].take()))
        .collect()
}

async fn a_board_is_applied_by_hand(engine: Engine) {
    let shop = yard(engine).await;
    let jobs = vehicle(&shop).await;
    let body = json!({"board": 3, "due": "2027-01-31", "staff": 1, "notes": "Second key is missing"});
    let answer = shop.api.post(&jobs, &body).await;
    let mut made = answer.created();
    let path = format!("{jobs}/{}", made["id"]);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    assert_eq!(shop.api.get(&path).await.ok(), made);
    let simple = shop.api.get(&format!("{path}?view=simple")).await.ok();
    assert_eq!(members(&simple), SIMPLE);
    for member in SIMPLE {
        assert_eq!(simple[member], made[member], "{member}");
    }
    assert_eq!(shop.api.list(&jobs).await.items, std::slice::from_ref(&simple));
    assert_eq!(shop.api.list("/2.0/jobs").await.items, [simple]);
    assert_eq!(shop.api.list("/2.0/jobs?view=full").await.items, [made.clone()]);
    for member in ["id", "vehicle", "created", "updated"] {
        assert!(made[member].take().is_i64(), "{member}");
    }
    let task = |id: i64, name: &str| json!({"id": id, "name": name, "done": false, "done_at": null});
    let stage = |id: i64, name: &str, tasks: Vec<Value>| {
        json!({
            "id": id, "name": name, "status": "open", "staff": null, "supplier": null, "due": null, "notes": "",
            "tasks": tasks,
        })
    };
    let expected = json!({
        "id": null, "vehicle": null, "board": 3, "name": "Preparation", "description": "Before sale", "status": "open",
        "due": "2027-01-31", "staff": 1, "notes": "Second key is missing", "automatic": false,
        "stages": [
            stage(1, "Workshop", vec![task(1, "MOT"), task(2, "Service")]),
            stage(2, "Photos", vec![task(3, "Take 20")]),
        ],
        "progress": {"done": 0, "total": 3}, "stage": "Workshop", "documents": [], "purchases": [], "created": null,
        "updated": null, "version": 1,
    });
    assert_eq!(made, expected);
    // A board without stages makes a job that is done.
    let (done, _) = job(&shop, &jobs, 5).await;
    assert_eq!((&done["status"], &done["stage"]), (&json!("done"), &Value::Null));
}

async fn boards_are_applied_to_every_new_vehicle_of_their_type(engine: Engine) {
    let shop = yard(engine).await;
    for (kind, expected) in [
        ("in-stock", vec![1, 3]),
        ("to-order", vec![3]),
        ("customer", vec![]),
        ("courtesy", vec![]),
    ] {
        let jobs = vehicle_of(&shop, kind).await;
        let found = shop.api.list(&jobs).await;
        assert_eq!(found.column("board"), expected, "{kind}, newest first");
        assert!(found.items.iter().all(|job| job["automatic"] == true), "{kind}");
    }
    let (name, _) = &recorded(&shop.api).await[0];
    assert_eq!(name, "vehicle.created");
    let events: Vec<_> = recorded(&shop.api).await.into_iter().take(3).collect();
    let boards: Vec<_> = events
        .iter()
        .map(|(name, data)| (name.as_str(), data["board"].clone()))
        .collect();
    let created = "vehicle_job.created";
    assert_eq!(
        boards,
        [
            ("vehicle.created", Value::Null),
            (created, json!(3)),
            (created, json!(1))
        ]
    );
    // The stock vehicle of an accepted appraisal too.
    let data = json!({"vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"}});
    let body = json!({"type": "appraisal", "data": data});
    let appraisal = shop.api.post("/2.0/vehicles", &body).await.created();
    let path = format!("/2.0/vehicles/{}/appraisal", appraisal["id"]);
    shop.api
        .post(
            &format!("{path}/offer"),
            &json!({"offer": 2500, "expiry": today(7), "appraised_by": 1}),
        )
        .await
        .ok();
    shop.api.post(&format!("{path}/accept"), &json!({})).await.ok();
    let events = recorded(&shop.api).await;
    let last: Vec<_> = events[events.len() - 4..]
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(last, ["vehicle.created", created, created, "vehicle.updated"]);
}

async fn a_body_is_judged_before_the_records(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let absent = "/2.0/vehicles/987654321/jobs";
    api.post(absent, &json!({"board": 99})).await.invalid(&["board"]);
    api.post(absent, &json!({})).await.invalid(&["board"]);
    let body = json!({"board": "3", "due": "2027-02-30", "staff": 99, "notes": 7});
    api.post(absent, &body)
        .await
        .invalid(&["board", "due", "staff", "notes"]);
    api.post(absent, &json!({"board": 3, "due": "1884-12-31"}))
        .await
        .invalid(&["due"]);
    api.patch(&format!("{absent}/1"), &json!({"staff": 99}))
        .await
        .invalid(&["staff"]);
    let stages = format!("{absent}/1/stages");
    api.post(&stages, &json!({"supplier": 987_654_321, "position": 0}))
        .await
        .invalid(&["name", "position", "supplier"]);
    api.post(&stages, &json!({"name": "x", "supplier": 987_654_321}))
        .await
        .invalid(&["supplier"]);
    let tasks = json!({"tasks": [{"name": "x"}, {"done": 1}, {"id": 1}, {"id": 1, "name": ""}], "status": "closed"});
    let fields = ["tasks.1.name", "tasks.1.done", "tasks.3.id", "tasks.3.name", "status"];
    api.patch(&format!("{stages}/1"), &tasks).await.invalid(&fields);
}

async fn a_board_is_open_once_on_a_vehicle(engine: Engine) {
    let shop = yard(engine).await;
    let jobs = vehicle(&shop).await;
    let (_, first) = job(&shop, &jobs, 1).await;
    shop.api
        .post(&jobs, &json!({"board": 1}))
        .await
        .refused(409, "vehicle_job_duplicate");
    job(&shop, &vehicle(&shop).await, 1).await;
    let stage = format!("{first}/stages/1");
    shop.api.patch(&stage, &json!({"status": "done"})).await.ok();
    let (_, second) = job(&shop, &jobs, 1).await;
    for body in [json!({"status": "open"}), json!({"tasks": [{"name": "Spelling"}]})] {
        shop.api
            .patch(&stage, &body)
            .await
            .refused(409, "vehicle_job_duplicate");
    }
    let more = json!({"name": "More"});
    shop.api
        .post(&format!("{first}/stages"), &more)
        .await
        .refused(409, "vehicle_job_duplicate");
    let gone = shop.api.delete(&second).await.ok();
    assert_eq!(gone, json!({"id": gone["id"], "deleted": true}));
    shop.api.patch(&stage, &json!({"status": "open"})).await.ok();
}

async fn a_job_changes(engine: Engine) {
    let shop = yard(engine).await;
    let (made, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let body = json!({"due": "2027-03-01", "staff": 2, "notes": "Soon", "board": 1, "name": "x", "automatic": true});
    let changed = shop.api.patch(&path, &body).await.ok();
    assert_eq!(
        (&changed["due"], &changed["staff"], &changed["notes"]),
        (&json!("2027-03-01"), &json!(2), &json!("Soon"))
    );
    assert_eq!(
        (&changed["version"], &changed["board"], &changed["name"]),
        (&json!(2), &json!(3), &made["name"])
    );
    let before = recorded(&shop.api).await.len();
    assert_eq!(shop.api.patch(&path, &json!({"staff": 2})).await.ok(), changed);
    assert_eq!(recorded(&shop.api).await.len(), before, "nothing changed");
    let reset = shop
        .api
        .patch(&path, &json!({"due": null, "staff": null, "notes": null}))
        .await
        .ok();
    assert_eq!(
        (&reset["due"], &reset["staff"], &reset["notes"]),
        (&Value::Null, &Value::Null, &json!(""))
    );
    // The vehicle's own stamp stays.
    let vehicle = shop.api.get(path.split("/jobs").next().unwrap()).await.ok();
    assert_eq!(vehicle["version"], 1);
}

async fn stages_are_added_moved_and_removed(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let (_, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let contact = api
        .post("/2.0/contacts", &json!({"name": "Dent Wizards"}))
        .await
        .created()["id"]
        .take();
    let stages = format!("{path}/stages");
    let body = json!({
        "name": "Body", "position": 1, "tasks": [{"name": "Door", "done": true}, {"name": "Wing"}], "staff": 2,
        "supplier": contact, "due": "2027-01-05", "notes": "Ask for a price",
    });
    let answer = api.post(&stages, &body).await;
    assert_eq!((answer.status, answer.header("Location")), (200, None));
    let job = answer.ok();
    assert_eq!(names(&job), ["Body", "Workshop", "Photos"]);
    let stage = &job["stages"][0];
    for member in ["staff", "supplier", "due", "notes"] {
        assert_eq!(stage[member], body[member], "{member}");
    }
    assert_eq!(
        (&stage["id"], &stage["tasks"][1]["id"], &stage["status"]),
        (&json!(3), &json!(5), &json!("open"))
    );
    assert!(stage["tasks"][0]["done_at"].is_i64());
    assert_eq!(
        names(&api.post(&stages, &json!({"name": "Valet"})).await.ok()),
        ["Body", "Workshop", "Photos", "Valet"]
    );
    let moved = api
        .patch(&format!("{stages}/3"), &json!({"position": 3, "name": "Bodywork"}))
        .await
        .ok();
    assert_eq!(names(&moved), ["Workshop", "Photos", "Bodywork", "Valet"]);
    let moved = api.patch(&format!("{stages}/1"), &json!({"position": null})).await.ok();
    assert_eq!(names(&moved), ["Photos", "Bodywork", "Valet", "Workshop"]);
    let left = api.delete(&format!("{stages}/2")).await.ok();
    assert_eq!(names(&left), ["Bodywork", "Valet", "Workshop"]);
    api.delete(&format!("{stages}/2"))
        .await
        .refused(404, "vehicle_job_stage_not_found");
    // Ids are not given out again.
    assert_eq!(
        api.post(&stages, &json!({"name": "Last"})).await.ok()["stages"][3]["id"],
        5
    );
}

async fn a_stage_is_done_by_its_tasks_or_by_its_status(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let (_, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let stage = format!("{path}/stages/1");
    let half = api
        .patch(&stage, &json!({"tasks": [{"id": 1, "done": true}, {"id": 2}]}))
        .await
        .ok();
    assert_eq!(
        (&half["stages"][0]["status"], &half["progress"]),
        (&json!("open"), &json!({"done": 1, "total": 3}))
    );
    let at = half["stages"][0]["tasks"][0]["done_at"].clone();
    let whole = api
        .patch(
            &stage,
            &json!({"tasks": [{"id": 2, "done": true}, {"id": 1, "name": "MOT test"}]}),
        )
        .await
        .ok();
    assert_eq!(
        (&whole["stages"][0]["status"], &whole["stage"]),
        (&json!("done"), &json!("Photos"))
    );
    assert_eq!(
        whole["stages"][0]["tasks"][1],
        json!({"id": 1, "name": "MOT test", "done": true, "done_at": at})
    );
    let open = api.patch(&stage, &json!({"status": "open"})).await.ok();
    assert_eq!(
        (&open["stage"], &open["progress"]["done"]),
        (&json!("Workshop"), &json!(0))
    );
    let done = api.patch(&stage, &json!({"status": "done"})).await.ok();
    assert_eq!(done["progress"], json!({"done": 2, "total": 3}));
    let done = api
        .patch(&format!("{path}/stages/2"), &json!({"status": "done"}))
        .await
        .ok();
    assert_eq!((&done["status"], &done["stage"]), (&json!("done"), &Value::Null));
    let removed = api.patch(&stage, &json!({"tasks": [{"id": 1}]})).await.ok();
    assert_eq!(removed["stages"][0]["tasks"].as_array().unwrap().len(), 1);
    api.patch(&stage, &json!({"tasks": [{"id": 3}]}))
        .await
        .invalid(&["tasks.0.id"]);
    // One without tasks, by status alone.
    let (_, path) = job(&shop, &vehicle(&shop).await, 1).await;
    let stage = format!("{path}/stages/1");
    assert_eq!(
        api.patch(&stage, &json!({"status": "done"})).await.ok()["status"],
        "done"
    );
    assert_eq!(api.patch(&stage, &json!({"status": null})).await.ok()["status"], "open");
}

async fn bounds_are_named(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let jobs = vehicle(&shop).await;
    let (_, path) = job(&shop, &jobs, 4).await;
    for _ in 1..50 {
        job(&shop, &jobs, 5).await;
    }
    api.post(&jobs, &json!({"board": 5})).await.invalid(&["jobs"]);
    let stages = format!("{path}/stages");
    for number in 1..50 {
        api.post(&stages, &json!({"name": format!("Stage {number}")}))
            .await
            .ok();
    }
    api.post(&stages, &json!({"name": "One more"}))
        .await
        .invalid(&["stages"]);
    let tasks = |count: usize| json!({"tasks": vec![json!({"name": "x"}); count]});
    api.patch(&format!("{stages}/1"), &tasks(200)).await.ok();
    api.patch(&format!("{stages}/1"), &tasks(201)).await.invalid(&["tasks"]);
}

async fn documents_are_kept_with_a_job(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let (_, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let documents = format!("{path}/documents");
    let body = json!({"file": base64(PDF), "filename": "Report.pdf", "description": "Tyres"});
    let answer = api.post(&documents, &body).await;
    let made = answer.created();
    let document = format!("{documents}/1");
    assert_eq!(
        (&made["id"], answer.header("Location")),
        (&json!("1"), Some(document.as_str()))
    );
    let job = api.get(&path).await.ok();
    assert_eq!(job["version"], 2);
    let mut entry = job["documents"][0].clone();
    assert_eq!(members(&entry), ["id", "mime", "name", "size", "uploaded"]);
    assert!(entry["uploaded"].take().is_i64());
    let expected =
        json!({"id": "1", "name": "Report.pdf", "mime": "application/pdf", "size": PDF.len(), "uploaded": null});
    assert_eq!(entry, expected);
    assert_eq!(api.get(&document).await.ok(), made);
    assert_eq!(api.list(&documents).await.items, [made]);
    let download = api.get(&format!("{document}/download")).await.ok();
    assert_eq!(
        (&download["content"], &download["encoding"]),
        (&json!(base64(PDF)), &json!("base64"))
    );
    api.post(&documents, &json!({"file": base64(b"MZ")}))
        .await
        .invalid(&["file"]);
    api.post(&documents, &json!({})).await.invalid(&["file"]);
    for _ in 1..100 {
        api.post(&documents, &body).await.created();
    }
    api.post(&documents, &body).await.invalid(&["documents"]);
    assert_eq!(api.delete(&document).await.ok(), json!({"id": "1", "deleted": true}));
    api.get(&document).await.refused(404, "vehicle_job_document_not_found");
    let (last, data) = recorded(api).await.pop().unwrap();
    assert_eq!((last.as_str(), &data["version"]), ("vehicle_job.updated", &json!(102)));
    assert_eq!(data["documents"].as_array().unwrap().len(), 99);
    api.delete(&path).await.ok();
    api.get(&documents).await.refused(404, "vehicle_job_not_found");
}

async fn a_purchase_that_does_not_exist_is_not_linked(engine: Engine) {
    let shop = yard(engine).await;
    let (_, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let purchases = format!("{path}/purchases");
    shop.api
        .post(&purchases, &json!({"purchase": 91}))
        .await
        .invalid(&["purchase"]);
    shop.api.post(&purchases, &json!({})).await.invalid(&["purchase"]);
    let answer = shop.api.delete(&format!("{purchases}/91")).await;
    answer.refused(404, "vehicle_job_purchase_not_found");
    let reader = shop.client("vehicle-jobs:read").await;
    let denied = reader.post(&purchases, &json!({"purchase": 91})).await;
    assert_eq!(
        denied.refused(403, "scope_denied")["details"]["scope"],
        "vehicle-jobs:write"
    );
}

async fn what_does_not_exist_is_named(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let jobs = vehicle(&shop).await;
    let (_, path) = job(&shop, &jobs, 3).await;
    let other = path.replace(&jobs, &vehicle(&shop).await);
    for (path, code) in [
        ("/2.0/vehicles/987654321/jobs".to_owned(), "vehicle_not_found"),
        ("/2.0/vehicles/x/jobs/x".to_owned(), "vehicle_not_found"),
        (format!("{jobs}/987654321"), "vehicle_job_not_found"),
        (format!("{jobs}/x"), "vehicle_job_not_found"),
        (other.clone(), "vehicle_job_not_found"),
        (format!("{path}/documents/9"), "vehicle_job_document_not_found"),
        (format!("{path}/documents/x/download"), "vehicle_job_document_not_found"),
        (format!("{jobs}/987654321/documents/x"), "vehicle_job_not_found"),
    ] {
        api.get(&path).await.refused(404, code);
    }
    for (stage, code) in [
        (format!("{path}/stages/9"), "vehicle_job_stage_not_found"),
        (format!("{path}/stages/x"), "vehicle_job_stage_not_found"),
        (format!("{other}/stages/1"), "vehicle_job_not_found"),
    ] {
        api.patch(&stage, &json!({"notes": "x"})).await.refused(404, code);
        api.delete(&stage).await.refused(404, code);
    }
}

async fn a_write_compares_the_version_of_the_job(engine: Engine) {
    let shop = yard(engine).await;
    let jobs = vehicle(&shop).await;
    let (_, path) = job(&shop, &jobs, 3).await;
    shop.api.patch(&path, &json!({"notes": "Now at version 2"})).await.ok();
    let send = async |method: &str, path: &str, tag: &str| {
        let request = shop.api.request(method, path).header("If-Match", tag);
        request.json(&json!({"name": "Valet", "board": 4})).send().await
    };
    for (method, path) in [
        ("POST", format!("{path}/stages")),
        ("PATCH", format!("{path}/stages/1")),
        ("PATCH", path.clone()),
    ] {
        let refused = send(method, &path, "\"1\"").await.refused(412, "precondition_failed");
        assert_eq!(refused["details"]["version"], 2, "{method} {path}");
    }
    send("POST", &format!("{path}/stages"), "\"2\"").await.ok();
    // The version of what is added to: the vehicle's.
    send("POST", &jobs, "\"2\"").await.refused(412, "precondition_failed");
    send("POST", &jobs, "\"1\"").await.created();
    assert_eq!(shop.api.get(&path).await.header("ETag"), Some("\"3\""));
    let simple = shop.api.get(&format!("{path}?view=simple")).await;
    assert_eq!(simple.header("ETag"), Some("\"3-simple\""));
}

async fn what_happens_to_a_job_is_reported(engine: Engine) {
    let shop = yard(engine).await;
    let (made, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let changed = shop.api.patch(&path, &json!({"notes": "Soon"})).await.ok();
    shop.api.delete(&path).await.ok();
    let events = recorded(&shop.api).await;
    let [(created, mut first), (updated, mut second), (deleted, last)] =
        <[_; 3]>::try_from(events[1..].to_vec()).unwrap();
    assert_eq!(
        (created.as_str(), updated.as_str()),
        ("vehicle_job.created", "vehicle_job.updated")
    );
    let all: Vec<Value> = first["changed"].take().as_array().unwrap().clone();
    assert_eq!(all.len(), made.as_object().unwrap().len(), "all members");
    let some = second["changed"].take();
    for (member, before) in made.as_object().unwrap() {
        let differs = some.as_array().unwrap().contains(&json!(member));
        assert_eq!(differs, changed[member] != *before, "{member}");
    }
    first.as_object_mut().unwrap().remove("changed");
    second.as_object_mut().unwrap().remove("changed");
    assert_eq!((first, second), (made.clone(), changed));
    assert_eq!(
        (deleted.as_str(), last),
        ("vehicle_job.deleted", json!({"id": made["id"]}))
    );
}

async fn events_need_the_scope_of_jobs(engine: Engine) {
    let shop = yard(engine).await;
    job(&shop, &vehicle(&shop).await, 3).await;
    let without = shop.client("vehicles:read,webhooks:read").await;
    let seen = recorded(&without).await;
    assert!(
        seen.iter().all(|(name, _)| !name.starts_with("vehicle_job.")),
        "{seen:?}"
    );
    let with = shop.client("vehicle-jobs:read,webhooks:read").await;
    let seen = recorded(&with).await;
    let seen: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(seen, ["vehicle_job.created"]);
    with.post("/2.0/vehicles", &json!({}))
        .await
        .refused(403, "scope_denied");
}

async fn a_deleted_vehicle_loses_its_jobs_in_silence(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let jobs = vehicle(&shop).await;
    let (_, path) = job(&shop, &jobs, 3).await;
    let body = json!({"file": base64(PDF), "filename": "Report.pdf"});
    api.post(&format!("{path}/documents"), &body).await.created();
    let (kept, _) = job(&shop, &vehicle(&shop).await, 3).await;
    let before = recorded(api).await.len();
    api.delete(jobs.trim_end_matches("/jobs")).await.ok();
    let after = recorded(api).await;
    let new: Vec<&str> = after[before..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(new, ["vehicle.deleted"]);
    api.get(&path).await.refused(404, "vehicle_not_found");
    assert_eq!(api.list("/2.0/jobs").await.column("id"), [kept["id"].clone()]);
    let files = shop.installation().data_dir();
    wait_for("the file is gone", TIMEOUT, async || !holds(&files, PDF)).await;
}

async fn each_filter_alone_and_with_others(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let jobs = vehicle(&shop).await;
    let other = vehicle_of(&shop, "to-order").await;
    let contact = api
        .post("/2.0/contacts", &json!({"name": "Dent Wizards"}))
        .await
        .created()["id"]
        .take();
    let automatic = api.list(&other).await.items[0]["id"].clone();
    let late = api
        .post(&jobs, &json!({"board": 3, "due": "2020-01-31", "staff": 2}))
        .await
        .created()["id"]
        .take();
    let (_, path) = job(&shop, &jobs, 4).await;
    let stage = json!({"staff": 2, "supplier": contact, "due": "2020-02-01", "notes": "x"});
    let staged = api.patch(&format!("{path}/stages/1"), &stage).await.ok()["id"].take();
    let done = api
        .post(&jobs, &json!({"board": 5, "due": "2020-01-01"}))
        .await
        .created();
    let (at, done) = (done["created"].clone(), done["id"].clone());
    let vehicle = jobs.split('/').nth(3).unwrap();
    let all = [&done, &staged, &late, &automatic];
    let cases: Vec<(String, Vec<&Value>)> = vec![
        (String::new(), all.to_vec()),
        ("board=3".into(), vec![&late, &automatic]),
        ("status=done".into(), vec![&done]),
        ("status=open&board=4".into(), vec![&staged]),
        ("stage=Workshop".into(), vec![&late, &automatic]),
        ("stage=Clean".into(), vec![&staged]),
        ("stage=Photos".into(), vec![]),
        (format!("vehicle={vehicle}"), vec![&done, &staged, &late]),
        ("vehicle=987654321".into(), vec![]),
        ("staff=2".into(), vec![&staged, &late]),
        ("staff=1".into(), vec![]),
        (format!("supplier={contact}"), vec![&staged]),
        ("automatic=true".into(), vec![&automatic]),
        ("automatic=false".into(), vec![&done, &staged, &late]),
        ("overdue=true".into(), vec![&staged, &late]),
        ("overdue=false".into(), vec![&done, &automatic]),
        ("overdue=true&staff=2&board=3".into(), vec![&late]),
        ("due=2020-01-31".into(), vec![&late]),
        ("due[]=2020-01-01&due[]=2020-01-31".into(), vec![&done, &late]),
        ("due[]=2020-01-02&due[]=".into(), vec![&late]),
        (format!("created[]=&created[]={at}"), all.to_vec()),
        ("updated[]=&updated[]=1000".into(), vec![]),
        ("board=".into(), all.to_vec()),
    ];
    for (query, expected) in cases {
        let found = api.list(&format!("/2.0/jobs?{query}")).await;
        let expected: Vec<Value> = expected.into_iter().cloned().collect();
        assert_eq!(found.column("id"), expected, "{query}");
    }
    for (query, field) in [
        ("board=x", "board"),
        ("status=closed", "status"),
        ("automatic=maybe", "automatic"),
        ("overdue=2", "overdue"),
        ("due=2020-02-30", "due"),
        ("staff[]=2", "staff"),
    ] {
        api.get(&format!("/2.0/jobs?{query}")).await.invalid(&[field]);
    }
}

async fn businesses_are_apart(engine: Engine) {
    let shop = yard(engine).await;
    let (_, path) = job(&shop, &vehicle(&shop).await, 3).await;
    let rival = shop.rival().await;
    rival.get(&path).await.refused(404, "vehicle_not_found");
    assert_eq!(rival.list("/2.0/jobs").await.items, Vec::<Value>::new());
    let foreign = rival.post("/2.0/contacts", &json!({"name": "Ann"})).await.created()["id"].take();
    let answer = shop
        .api
        .post(&format!("{path}/stages"), &json!({"name": "x", "supplier": foreign}))
        .await;
    answer.invalid(&["supplier"]);
}

async fn an_erased_supplier_leaves_no_trace(engine: Engine) {
    let shop = yard(engine).await;
    let api = &shop.api;
    let (_, path) = job(&shop, &vehicle(&shop).await, 4).await;
    let body = json!({"name": "Zebedee Quill", "email": "zebedee@quill.example"});
    let contact = api.post("/2.0/contacts", &body).await.created()["id"].take();
    let stage = format!("{path}/stages/1");
    let body = json!({"supplier": contact, "notes": "Ring Zebedee Quill", "tasks": [{"name": "Pay Zebedee Quill"}]});
    let before = api.request("PATCH", &stage).key("once").json(&body).send().await.ok();
    api.delete(&format!("/2.0/contacts/{contact}")).await.ok();
    let cleaned = async || api.get(&path).await.ok()["stages"][0]["supplier"].is_null();
    wait_for("the supplier is gone", TIMEOUT, cleaned).await;
    let after = api.get(&path).await.ok();
    assert_eq!(after["stages"][0]["notes"], "Ring …");
    assert_eq!(
        after["version"].as_i64(),
        before["version"].as_i64().map(|version| version + 1)
    );
    let last = async || {
        let events = recorded(api).await;
        let of_job = events.iter().filter(|(name, _)| name.starts_with("vehicle_job."));
        let shown: Vec<String> = of_job.map(|(_, data)| data.to_string()).collect();
        let supplier = format!("\"supplier\":{contact}");
        shown.len() == 3
            && shown
                .iter()
                .all(|data| !data.contains("Zebedee") && !data.contains(&supplier))
    };
    wait_for("the events are clean", TIMEOUT, last).await;
    let replayed = async || {
        let again = api.request("PATCH", &stage).key("once").json(&body).send().await;
        again.ok() == json!({"id": before["id"]})
    };
    wait_for("the stored answer is empty", TIMEOUT, replayed).await;
}

async fn a_change_of_the_file_changes_no_job(engine: Engine) {
    let shop = yard(engine).await;
    let jobs = vehicle(&shop).await;
    let (made, path) = job(&shop, &jobs, 3).await;
    shop.business
        .change(json!({"job_boards": [{"id": 9, "name": "Other"}]}))
        .await;
    let changed = async || shop.api.get("/2.0/reference/job-boards").await.ok()[0]["id"] == 9;
    wait_for("the boards changed", TIMEOUT, changed).await;
    assert_eq!(shop.api.get(&path).await.ok(), made);
    shop.api.post(&jobs, &json!({"board": 3})).await.invalid(&["board"]);
    assert_eq!(shop.api.list("/2.0/jobs?board=3").await.items.len(), 1);
    job(&shop, &jobs, 9).await;
}
