use forecourt_files::{FileAddresses, FileKind, FileReader};
use forecourt_kernel::{EventName, Precondition, Target, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::testing::a_file;
use forecourt_vehicles::{
    AddMedium, Detail, Media, Medium, MediumKind, MediumView, OrderMedia, Upload, Vehicle, VehicleError, add_medium,
    delete_medium, order_media,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::processes::code;
use crate::support::{Yard, at, faults};

/// Returns an upload of that kind, named by that byte; a picture has copies of two widths.
fn upload(byte: u8, kind: FileKind) -> Upload {
    let file = a_file(byte, kind);
    let copy = |width, kind| {
        let mut copy = a_file(byte, kind);
        copy.name = file.name.thumbnail(width, kind);
        (width, copy)
    };
    let widths: &[u32] = if kind.is_picture() { &[800, 320] } else { &[] };
    let kinds = [FileKind::Jpeg, FileKind::Webp];
    Upload {
        thumbnails: widths
            .iter()
            .flat_map(|&width| kinds.map(|kind| copy(width, kind)))
            .collect(),
        dimensions: kind.is_picture().then_some((1200, 900)),
        file,
    }
}

fn file(byte: u8, kind: FileKind, said: Option<MediumKind>) -> AddMedium {
    AddMedium::File {
        kind: said,
        upload: upload(byte, kind),
    }
}

fn film(id: &str) -> AddMedium {
    AddMedium::YouTube(id.parse().unwrap())
}

fn key(byte: u8) -> String {
    format!("{byte:02x}").repeat(16)
}

async fn add(yard: &mut Yard, id: VehicleId, command: AddMedium) -> Result<Vehicle, VehicleError> {
    add_medium(&mut yard.store, &yard.clock, &yard.caller, id, command).await
}

async fn order(yard: &mut Yard, id: VehicleId, ids: &[&str]) -> Result<Vehicle, VehicleError> {
    let media = ids.iter().map(|&id| id.to_owned()).collect();
    order_media(&mut yard.store, &yard.clock, &yard.caller, id, OrderMedia { media }).await
}

fn ids(vehicle: &Vehicle) -> Vec<&str> {
    vehicle.content.media.as_slice().iter().map(Medium::id).collect()
}

#[tokio::test]
async fn media_are_shown_in_their_order_and_each_change_is_recorded() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let id = vehicle.id;
    for (seconds, command) in [
        (61, file(1, FileKind::Jpeg, None)),
        (62, film("dQw4w9WgXcQ")),
        (63, file(2, FileKind::Mov, None)),
        (64, file(3, FileKind::Webp, Some(MediumKind::Spin))),
        (65, file(4, FileKind::Png, Some(MediumKind::Photo))),
    ] {
        yard.set_clock(seconds);
        let before = yard.stored(id);
        let vehicle = add(&mut yard, id, command).await.unwrap();
        assert_eq!(vehicle.version, before.version.next());
        yard.assert_recorded(EventName::VehicleUpdated, &vehicle);
    }
    let stored = yard.stored(id);
    assert_eq!(
        yard.view(&stored)["media"],
        json!({"photo": [key(1), key(4)], "video": [key(2)], "youtube": ["dQw4w9WgXcQ"], "photo_spin": [key(3)]})
    );
    let simple = yard.view_as(&stored, Detail::Simple);
    assert_eq!(simple["media"], json!({"photo": [key(1), key(4)]}));

    yard.set_clock(70);
    let ordered = order(&mut yard, id, &[&key(4), "dQw4w9WgXcQ"]).await.unwrap();
    assert_eq!(ids(&ordered), [&*key(4), "dQw4w9WgXcQ", &key(1), &key(2), &key(3)]);
    yard.assert_recorded(EventName::VehicleUpdated, &ordered);

    yard.set_clock(80);
    let (left, files) = delete_medium(&mut yard.store, &yard.clock, &yard.caller, id, &key(4))
        .await
        .unwrap();
    assert_eq!(ids(&left), ["dQw4w9WgXcQ", &*key(1), &key(2), &key(3)]);
    assert_eq!(files.len(), 5, "a picture goes with its copies");
    yard.assert_recorded(EventName::VehicleUpdated, &left);
    let again = delete_medium(&mut yard.store, &yard.clock, &yard.caller, id, &key(4)).await;
    assert_eq!(code(&again.unwrap_err()), "vehicle_media_not_found");
    let (_, files) = delete_medium(&mut yard.store, &yard.clock, &yard.caller, id, "dQw4w9WgXcQ")
        .await
        .unwrap();
    assert!(files.is_empty());

    let gone = yard.delete(id).await.unwrap();
    assert_eq!(gone.len(), 5 + 1 + 5, "the files of a vehicle go with it");
    assert!(yard.stored(id).content.media.is_empty());
}

#[tokio::test]
async fn a_medium_shows_where_it_and_its_copies_are() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    add(&mut yard, vehicle.id, file(1, FileKind::Png, None)).await.unwrap();
    add(&mut yard, vehicle.id, film("dQw4w9WgXcQ")).await.unwrap();
    let vehicle = add(&mut yard, vehicle.id, file(2, FileKind::Mp4, None)).await.unwrap();
    let addresses = FileAddresses::new("https://api.example/");
    let business = yard.caller.business_id();
    let shown: Value = serde_json::to_value(MediumView::all(&vehicle, business, &addresses)).unwrap();
    let address = |name: &str| format!("https://api.example/files/7/{}{name}", key(1));
    let thumbnail = |width: u32| {
        json!({
            "width": width, "url": address(&format!("-{width}.jpg")), "webp_url": address(&format!("-{width}.webp")),
        })
    };
    assert_eq!(
        shown,
        json!([
            {
                "id": key(1), "type": "photo", "position": 1, "url": address(".png"),
                "thumbnails": [thumbnail(320), thumbnail(800)], "thumbnail_url": address("-320.jpg"),
                "width": 1200, "height": 900, "size": 1_234_567, "mime": "image/png", "uploaded": at(60),
            },
            {
                "id": "dQw4w9WgXcQ", "type": "youtube", "position": 2,
                "url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "thumbnails": [],
                "thumbnail_url": "https://i.ytimg.com/vi/dQw4w9WgXcQ/hqdefault.jpg",
                "width": null, "height": null, "size": null, "mime": null, "uploaded": at(60),
            },
            {
                "id": key(2), "type": "video", "position": 3, "url": format!("https://api.example/files/7/{}.mp4", key(2)),
                "thumbnails": [], "thumbnail_url": null, "width": null, "height": null, "size": 1_234_567,
                "mime": "video/mp4", "uploaded": at(60),
            },
        ])
    );
    for name in ["", "-800"] {
        let name = format!("{}{name}.{}", key(1), if name.is_empty() { "png" } else { "webp" });
        let file = yard
            .store
            .file(business, &name.parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        assert!(file.public, "media have addresses");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let id = vehicle.id;
    for command in [
        file(1, FileKind::Pdf, None),
        file(1, FileKind::Jpeg, Some(MediumKind::Video)),
        file(1, FileKind::Mp4, Some(MediumKind::Spin)),
    ] {
        assert_eq!(faults(add(&mut yard, id, command).await), ["file"]);
    }
    yard.assert_untouched(&vehicle);
    let vehicle = add(&mut yard, id, film("dQw4w9WgXcQ")).await.unwrap();
    yard.recorded();
    yard.forget_saves();
    assert_eq!(faults(add(&mut yard, id, film("dQw4w9WgXcQ")).await), ["youtube"]);
    assert_eq!(
        faults(order(&mut yard, id, &["x", "dQw4w9WgXcQ", "dQw4w9WgXcQ"]).await),
        ["media.0", "media.2"]
    );
    // An order that changes nothing is no change.
    order(&mut yard, id, &["dQw4w9WgXcQ"]).await.unwrap();
    order(&mut yard, id, &[]).await.unwrap();
    yard.assert_untouched(&vehicle);

    let stale = Target {
        id,
        precondition: Precondition::one_of(vec![1]),
    };
    for (medium, expected) in [("x", "vehicle_media_not_found"), ("dQw4w9WgXcQ", "precondition_failed")] {
        let outcome = delete_medium(&mut yard.store, &yard.clock, &yard.caller, stale.clone(), medium).await;
        assert_eq!(code(&outcome.unwrap_err()), expected);
    }
    yard.assert_untouched(&vehicle);
}

#[tokio::test]
async fn a_vehicle_has_so_many_media_at_most() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    for number in 0..Media::MAX {
        add(&mut yard, vehicle.id, film(&format!("{number:011}")))
            .await
            .unwrap();
    }
    assert_eq!(faults(add(&mut yard, vehicle.id, film("dQw4w9WgXcQ")).await), ["media"]);
}

proptest! {
    #[test]
    fn an_order_loses_nothing_and_puts_the_named_first(
        wanted in Just((0..8_usize).collect::<Vec<_>>()).prop_shuffle(),
        named in 0..=8_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
            let name = |number: usize| format!("{number:011}");
            for number in 0..8 {
                add(&mut yard, vehicle.id, film(&name(number))).await.unwrap();
            }
            let named: Vec<String> = wanted[..named].iter().map(|&number| name(number)).collect();
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            let vehicle = order(&mut yard, vehicle.id, &named).await.unwrap();
            let shown = ids(&vehicle);
            assert_eq!(shown[..named.len()], named);
            let mut rest = shown[named.len()..].to_vec();
            assert!(rest.is_sorted());
            rest.extend(&named);
            rest.sort_unstable();
            assert_eq!(rest, (0..8).map(name).collect::<Vec<_>>());
        });
    }
}
