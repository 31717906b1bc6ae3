use forecourt_accounts::Rules;
use forecourt_files::{AddressKey, FileAddresses, FileKind, FileReader, SignedAddresses};
use forecourt_kernel::{
    BusinessId, ContactId, Line, LongText, PageRequest, Person, PersonKeys, Precondition, Random, Scope, ScopeSet,
    StaffId, Target, VehicleId, View,
};
use forecourt_reference::{LocationRef, StockType};
use forecourt_vehicles::testing::{MemoryStore, a_clashing_drive_is_refused, a_file, test_drive_store_contract};
use forecourt_vehicles::{
    AddDrivePhoto, DriveEmailView, DrivePhotoView, Driver, SignDrive, StartDrive, TestDrive, TestDriveView, Upload,
    VehicleError, VehicleStatus, add_drive_photo, end_drive, forget_person_in_drive, list_drives, read_active_drive,
    read_drive, sign_drive, start_drive, summarize_drive, validate_drive, validate_driver,
};
use serde_json::{Value, json};

use crate::processes::code;
use crate::support::{Yard, at, faults};

struct Counting(std::sync::atomic::AtomicU8);

impl Random for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
}

static RANDOM: Counting = Counting(std::sync::atomic::AtomicU8::new(1));

const SIGNATURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";

fn ann() -> Driver {
    Driver {
        name: "Ann Lee".into(),
        email: "ann@example.com".into(),
        license_number: "LEE99".into(),
        license_code: "X7".into(),
        license_checked: "2026-01-02".parse().ok(),
        license_checked_by: Some(StaffId::new(1)),
        ni: "QQ123456C".into(),
        dob: "1990-02-28".parse().ok(),
    }
}

fn by_ann() -> StartDrive {
    StartDrive {
        contact: ContactId::new(501),
        license_number: None,
        license_code: None,
        return_date: "2026-03-02".parse().ok(),
        return_time: "16:30".parse().ok(),
        fuel: Some(75),
        note: LongText::new("Ann Lee was in a hurry").unwrap(),
        condition: LongText::default(),
        location: Some(LocationRef::Number(1)),
        consent: true,
    }
}

/// A yard with a vehicle that Ann, with a licence, and Bob, without any data, can drive.
async fn yard() -> (Yard, VehicleId) {
    let data = json!({"vehicle": {"make": "Ford", "model": "Fiesta"}, "history": {"year": 2019}});
    let (mut yard, vehicle) = Yard::with(StockType::InStock, data).await;
    yard.force(vehicle.id, VehicleStatus::ForSale).await;
    yard.reform(|business| business.settings.test_drive_terms = Some("abc".into()));
    let drivers = [(501, ann()), (502, Driver::default())];
    let drivers = drivers.map(|(id, driver)| (ContactId::new(id), driver));
    yard.store.records.drivers.extend(drivers);
    (yard, vehicle.id)
}

async fn start(yard: &mut Yard, id: VehicleId, command: StartDrive) -> Result<TestDrive, VehicleError> {
    start_drive(&mut yard.store, &yard.clock, &RANDOM, &yard.caller, id, command).await
}

fn addresses() -> SignedAddresses {
    let addresses = FileAddresses::new("https://api.example");
    SignedAddresses::new(addresses, AddressKey::derive(&[7; 32]), at(60))
}

fn view(yard: &Yard, drive: &TestDrive, view: View) -> Value {
    serde_json::to_value(TestDriveView::new(drive, &yard.caller, &addresses(), view)).unwrap()
}

fn signature() -> SignDrive {
    SignDrive {
        name: Line::new("Ann Lee").unwrap(),
        signature: SIGNATURE.parse().unwrap(),
        ip: "192.0.2.7".into(),
        browser: "ä".repeat(300),
    }
}

fn photo(byte: u8, kind: FileKind) -> AddDrivePhoto {
    let file = a_file(byte, kind);
    let mut copy = a_file(byte, FileKind::Jpeg);
    copy.name = file.name.thumbnail(320, FileKind::Jpeg);
    AddDrivePhoto {
        filename: None,
        upload: Upload {
            thumbnails: if kind.is_picture() {
                vec![(320, copy)]
            } else {
                Vec::new()
            },
            dimensions: None,
            file,
        },
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    let (ours, theirs) = (BusinessId::new(1), BusinessId::new(2));
    test_drive_store_contract(&mut MemoryStore::default(), ours, theirs).await;
    let (car, van) = (VehicleId::new(1), VehicleId::new(2));
    let mut store = MemoryStore::default();
    a_clashing_drive_is_refused(&mut store, ours, (car, "AAAA2222"), (car, "BBBB3333")).await;
    let mut store = MemoryStore::default();
    a_clashing_drive_is_refused(&mut store, ours, (car, "AAAA2222"), (van, "AAAA2222")).await;
}

#[tokio::test]
async fn a_drive_starts_with_what_is_known_of_its_driver_and_ends() {
    let (mut yard, id) = yard().await;
    let vehicle = yard.stored(id);
    let drive = start(&mut yard, id, by_ann()).await.unwrap();
    let shown = view(&yard, &drive, View::Full);
    assert_eq!(
        shown,
        json!({
            "code": drive.code.as_str(), "active": true, "contact": 501, "license_number": "LEE99",
            "license_code": "X7", "ni": "QQ123456C", "dob": "1990-02-28", "license_checked": "2026-01-02",
            "license_checked_by": "Sam Hill", "return_date": "2026-03-02", "return_time": "16:30", "fuel": 75,
            "note": "Ann Lee was in a hurry", "condition": "", "location": 1, "location_name": "Front",
            "consent": true, "photo": [], "esign": null, "started": at(60), "ended": null,
        })
    );
    let members: Vec<_> = shown.as_object().unwrap().keys().cloned().collect();
    assert_eq!((&*members[0], &*members[20], members.len()), ("code", "ended", 21));
    let twice = start(&mut yard, id, by_ann()).await;
    assert_eq!(code(&twice.unwrap_err()), "vehicle_drive_active");
    let active = read_active_drive(&mut yard.store, &yard.caller, id).await.unwrap();
    assert_eq!(active, drive);

    yard.set_clock(120);
    let ended = end_drive(&mut yard.store, &yard.clock, &yard.caller, id).await.unwrap();
    let shown = view(&yard, &ended, View::Full);
    assert_eq!((&shown["active"], &shown["ended"]), (&json!(false), &json!(at(120))));
    let command = StartDrive {
        contact: ContactId::new(502),
        license_number: Line::new("BOB1").ok(),
        return_date: None,
        return_time: None,
        fuel: None,
        location: None,
        consent: false,
        ..by_ann()
    };
    let second = start(&mut yard, id, command).await.unwrap();
    assert_ne!(second.code, drive.code);
    let shown = view(&yard, &second, View::Simple);
    for (member, value) in [
        ("license_number", json!("BOB1")),
        ("license_code", json!("")),
        ("dob", Value::Null),
        ("license_checked_by", json!("")),
        ("return_time", json!("")),
        ("fuel", Value::Null),
        ("location", Value::Null),
        ("location_name", json!("")),
    ] {
        assert_eq!(shown[member], value, "{member}");
    }
    let page = list_drives(&mut yard.store, &yard.caller, id, &PageRequest::first(), View::Simple).await;
    assert_eq!(page.unwrap().items, [second, ended], "newest first");
    yard.assert_untouched(&vehicle);
}

#[tokio::test]
async fn what_a_drive_starts_with_is_checked() {
    let (mut yard, id) = yard().await;
    let command = StartDrive {
        contact: ContactId::new(777),
        return_date: "2050-01-01".parse().ok(),
        fuel: Some(101),
        location: Some(LocationRef::Id("9".into())),
        ..by_ann()
    };
    let expected = ["contact", "return_date", "fuel", "location"];
    assert_eq!(faults(start(&mut yard, id, command).await), expected);
    let business = &*yard.caller.business;
    let mut found = validate_driver(&mut yard.store, business, ContactId::new(777))
        .await
        .unwrap();
    let rules = Rules { business, now: at(60) };
    found.extend(validate_drive(
        &rules,
        "2050-01-01".parse().ok(),
        Some(-1),
        Some(&LocationRef::Number(9)),
    ));
    let found: Vec<_> = found.as_slice().iter().map(|fault| &*fault.field).collect();
    assert_eq!(found, expected);
    assert!(validate_drive(&rules, None, Some(100), None).is_empty());
    assert_eq!(yard.store.records.drives().count(), 0);
}

#[tokio::test]
async fn without_an_active_drive_there_is_nothing_to_act_on() {
    let (mut yard, id) = yard().await;
    for (yard_id, stale, expected) in [
        (VehicleId::new(5), false, "vehicle_not_found"),
        (id, true, "precondition_failed"),
        (id, false, "vehicle_drive_not_active"),
    ] {
        let numbers = if stale { vec![99] } else { vec![1] };
        let target = || Target {
            id: yard_id,
            precondition: Precondition::one_of(numbers.clone()),
        };
        let Yard {
            store, caller, clock, ..
        } = &mut yard;
        for outcome in [
            end_drive(store, clock, caller, target()).await.err(),
            sign_drive(store, clock, caller, target(), signature()).await.err(),
            add_drive_photo(store, caller, target(), photo(1, FileKind::Jpeg))
                .await
                .err(),
            summarize_drive(store, caller, target()).await.err(),
        ] {
            assert_eq!(code(&outcome.unwrap()), expected);
        }
        if !stale {
            let outcome = read_active_drive(store, caller, yard_id).await;
            assert_eq!(code(&outcome.unwrap_err()), expected);
        }
    }
}

#[tokio::test]
async fn stock_and_courtesy_vehicles_are_driven_unless_they_are_drafts_or_sold() {
    use VehicleStatus::{Closed, Complete, Deleted, Draft, ForSale, InUse, OnSite, Reserved, Sold};
    for kind in StockType::ALL {
        for &status in VehicleStatus::of(kind) {
            let (mut yard, _) = yard().await;
            let vehicle = yard.create(kind, json!({})).await.unwrap();
            yard.force(vehicle.id, status).await;
            let outcome = start(&mut yard, vehicle.id, by_ann()).await;
            let expected = match (kind, status) {
                (_, Deleted) => Some("vehicle_not_found"),
                (StockType::Customer | StockType::Appraisal, _) | (_, Draft | Sold | Complete | Closed) => {
                    Some("vehicle_status_transition_invalid")
                }
                (_, ForSale | Reserved | OnSite | InUse) => None,
                other => panic!("{other:?}"),
            };
            assert_eq!(outcome.err().map(|error| code(&error)), expected, "{kind:?} {status:?}");
        }
    }
}

#[tokio::test]
async fn what_is_known_of_a_contact_is_for_those_who_may_read_contacts() {
    let (mut yard, id) = yard().await;
    let private = [
        "license_number",
        "license_code",
        "ni",
        "dob",
        "license_checked",
        "license_checked_by",
    ];
    let without = ScopeSet::all().without(Scope::ContactsRead);
    let all = std::mem::replace(&mut yard.caller.scopes, without);
    let command = StartDrive {
        license_code: Line::new("MINE").ok(),
        ..by_ann()
    };
    let drive = start(&mut yard, id, command).await.unwrap();
    yard.caller.scopes = all;
    let empty = json!(["", "MINE", "", null, null, ""]);
    let shown = |yard: &Yard, drive: &TestDrive| {
        let shown = view(yard, drive, View::Full);
        Value::from_iter(private.map(|member| shown[member].clone()))
    };
    assert_eq!(shown(&yard, &drive), empty, "nothing was copied");
    end_drive(&mut yard.store, &yard.clock, &yard.caller, id).await.unwrap();

    let command = StartDrive {
        license_code: Line::new("MINE").ok(),
        ..by_ann()
    };
    let drive = start(&mut yard, id, command).await.unwrap();
    let whole = json!(["LEE99", "MINE", "QQ123456C", "1990-02-28", "2026-01-02", "Sam Hill"]);
    assert_eq!(shown(&yard, &drive), whole);
    yard.caller.scopes = without;
    assert_eq!(shown(&yard, &drive), empty, "what was copied is not shown");
}

#[tokio::test]
async fn a_drive_is_read_by_its_code() {
    let (mut yard, id) = yard().await;
    let drive = start(&mut yard, id, by_ann()).await.unwrap();
    end_drive(&mut yard.store, &yard.clock, &yard.caller, id).await.unwrap();
    let Yard { store, caller, .. } = &mut yard;
    let read = read_drive(store, caller, id, &drive.code).await.unwrap();
    assert_eq!((read.id, read.is_active()), (drive.id, false));
    let other = "22222222".parse().unwrap();
    assert_eq!(
        code(&read_drive(store, caller, id, &other).await.unwrap_err()),
        "vehicle_drive_not_found"
    );
    let nowhere = read_drive(store, caller, VehicleId::new(5), &drive.code).await;
    assert_eq!(code(&nowhere.unwrap_err()), "vehicle_not_found");
}

#[tokio::test]
async fn the_terms_are_signed_with_all_that_proves_it() {
    let (mut yard, id) = yard().await;
    start(&mut yard, id, by_ann()).await.unwrap();
    let nobody = SignDrive {
        name: Line::new(" ").unwrap(),
        ..signature()
    };
    let outcome = sign_drive(&mut yard.store, &yard.clock, &yard.caller, id, nobody).await;
    assert_eq!(faults(outcome), ["name"]);
    yard.set_clock(90);
    let drive = sign_drive(&mut yard.store, &yard.clock, &yard.caller, id, signature())
        .await
        .unwrap();
    let mut expected = json!({
        "name": "Ann Lee", "signature": SIGNATURE, "signed": at(90), "ip": "192.0.2.7", "browser": "ä".repeat(255),
        "terms_md5": "900150983cd24fb0d6963f7d28e17f72", "terms_sha1": "a9993e364706816aba3e25717850c26c9cd0d89d",
    });
    assert_eq!(view(&yard, &drive, View::Full)["esign"], expected);
    expected["signature"] = Value::Null;
    assert_eq!(view(&yard, &drive, View::Simple)["esign"], expected);
    assert_eq!(
        read_active_drive(&mut yard.store, &yard.caller, id).await.unwrap(),
        drive
    );
    let again = sign_drive(&mut yard.store, &yard.clock, &yard.caller, id, signature()).await;
    assert_eq!(code(&again.unwrap_err()), "vehicle_drive_signed");
}

/// Removes the signatures from the addresses of a photo, which must have them.
fn unsigned(photo: &mut Value) {
    for address in ["url", "thumbnail_url"] {
        if let Some(text) = photo[address].as_str() {
            let (path, query) = text.split_once('?').unwrap();
            let expires = at(60 + 900).epoch_seconds() / 60 * 60;
            assert!(query.starts_with(&format!("expires={expires}&signature=")), "{text}");
            photo[address] = path.into();
        }
    }
}

#[tokio::test]
async fn photos_and_videos_are_attached() {
    let (mut yard, id) = yard().await;
    start(&mut yard, id, by_ann()).await.unwrap();
    let outcome = add_drive_photo(&mut yard.store, &yard.caller, id, photo(1, FileKind::Pdf)).await;
    assert_eq!(faults(outcome), ["file"]);
    let named = AddDrivePhoto {
        filename: Some("dents/left.png".into()),
        ..photo(1, FileKind::Png)
    };
    let address = |byte: u8, ending: &str| {
        format!(
            "https://api.example/files/7/{}{ending}",
            format!("{byte:02x}").repeat(16)
        )
    };
    for (command, expected) in [
        (
            named,
            json!({
                "filename": "left.png", "video": false, "url": address(1, ".png"), "thumbnail_url": address(1, "-320.jpg"),
            }),
        ),
        (
            photo(2, FileKind::Mov),
            json!({"filename": "video.mov", "video": true, "url": address(2, ".mov"), "thumbnail_url": null}),
        ),
    ] {
        let (drive, photo) = add_drive_photo(&mut yard.store, &yard.caller, id, command)
            .await
            .unwrap();
        let shown = DrivePhotoView::new(&photo, &yard.caller.business, &addresses());
        let mut shown = serde_json::to_value(shown).unwrap();
        unsigned(&mut shown);
        assert_eq!(shown, expected);
        let mut photos = view(&yard, &drive, View::Full)["photo"].take();
        let last = photos.as_array_mut().unwrap().last_mut().unwrap();
        unsigned(last);
        assert_eq!(*last, expected);
        let file = yard.store.file(yard.caller.business_id(), &photo.file).await.unwrap();
        assert!(!file.unwrap().public, "nobody reads them by their names");
    }
    for byte in 3..=u8::try_from(TestDrive::MAX_PHOTOS).unwrap() {
        let command = photo(byte, FileKind::Jpeg);
        add_drive_photo(&mut yard.store, &yard.caller, id, command)
            .await
            .unwrap();
    }
    let outcome = add_drive_photo(&mut yard.store, &yard.caller, id, photo(200, FileKind::Jpeg)).await;
    assert_eq!(faults(outcome), ["file"]);
}

#[tokio::test]
async fn the_summary_is_sent_to_the_contact() {
    let (mut yard, id) = yard().await;
    start(&mut yard, id, by_ann()).await.unwrap();
    let summary = summarize_drive(&mut yard.store, &yard.caller, id).await.unwrap();
    let mail = &summary.mail;
    assert_eq!(
        (&*mail.to, &*mail.subject),
        ("ann@example.com", "Your test drive with Acme Cars")
    );
    let text = format!(
        "Hello Ann Lee,\n\nthis is a summary of your test drive with Acme Cars.\n\nVehicle: 2019 Ford Fiesta\n\
         Test drive: {}\nStarted: 2026-03-01 09:31 GMT\nFrom: Front\nReturn by: 2026-03-02 16:30 GMT\n\nTerms\n\nabc\n",
        summary.code
    );
    assert_eq!(mail.text, text);
    assert_eq!(
        serde_json::to_value(DriveEmailView::new(&summary, true)).unwrap(),
        json!({"code": summary.code.as_str(), "contact": 501, "email": "ann@example.com", "sent": true})
    );

    end_drive(&mut yard.store, &yard.clock, &yard.caller, id).await.unwrap();
    let command = StartDrive {
        contact: ContactId::new(502),
        ..by_ann()
    };
    start(&mut yard, id, command).await.unwrap();
    assert_eq!(
        faults(summarize_drive(&mut yard.store, &yard.caller, id).await),
        ["contact"]
    );
    yard.store.records.drivers.clear();
    assert_eq!(
        faults(summarize_drive(&mut yard.store, &yard.caller, id).await),
        ["contact"]
    );
}

#[tokio::test]
async fn a_forgotten_driver_is_in_no_drive() {
    let (mut yard, id) = yard().await;
    start(&mut yard, id, by_ann()).await.unwrap();
    add_drive_photo(&mut yard.store, &yard.caller, id, photo(1, FileKind::Jpeg))
        .await
        .unwrap();
    let drive = sign_drive(&mut yard.store, &yard.clock, &yard.caller, id, signature())
        .await
        .unwrap();
    let business = yard.caller.business_id();
    let person = |contact: i64, name: &str| {
        let mut keys = PersonKeys::new(ContactId::new(contact));
        keys.add_name(name);
        Person::new(&keys).unwrap()
    };
    forget_person_in_drive(&mut yard.store, business, drive.clone(), &person(502, "Bob Ray"))
        .await
        .unwrap();
    assert_eq!(
        read_active_drive(&mut yard.store, &yard.caller, id).await.unwrap(),
        drive
    );

    forget_person_in_drive(&mut yard.store, business, drive.clone(), &person(501, "Ann Lee"))
        .await
        .unwrap();
    let left = read_active_drive(&mut yard.store, &yard.caller, id).await.unwrap();
    let shown = view(&yard, &left, View::Full);
    let mut expected = view(&yard, &drive, View::Full);
    for (member, value) in [
        ("/contact", Value::Null),
        ("/license_number", json!("")),
        ("/license_code", json!("")),
        ("/ni", json!("")),
        ("/dob", Value::Null),
        ("/license_checked", Value::Null),
        ("/license_checked_by", json!("")),
        ("/note", json!("… was in a hurry")),
        ("/esign/name", json!("")),
        ("/esign/signature", json!("")),
        ("/esign/ip", json!("")),
        ("/esign/browser", json!("")),
        ("/photo", json!([])),
    ] {
        *expected.pointer_mut(member).unwrap() = value;
    }
    assert_eq!(shown, expected);
    assert_eq!(
        faults(summarize_drive(&mut yard.store, &yard.caller, id).await),
        ["contact"]
    );
}
