use forecourt_files::{FileKind, FileReader};
use forecourt_kernel::{BusinessId, LongText, PageRequest, Precondition, Target, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::testing::{MemoryStore, a_file, vehicle_document_store_contract};
use forecourt_vehicles::{
    AddVehicleDocument, UpdateVehicleDocument, VehicleDocument, VehicleDocumentId, VehicleDocumentView, VehicleError,
    add_document, delete_document, list_documents, read_document, update_document,
};
use serde_json::json;

use crate::processes::code;
use crate::support::{Yard, at, faults};

fn a_log_book() -> AddVehicleDocument {
    AddVehicleDocument {
        filename: Some("C:\\scans\\V5C.pdf".into()),
        description: LongText::default(),
        public: false,
        file: forecourt_files::StoredFile {
            public: true,
            ..a_file(1, FileKind::Pdf)
        },
    }
}

fn text(text: &str) -> LongText {
    LongText::new(text).unwrap()
}

async fn add(yard: &mut Yard, id: VehicleId, command: AddVehicleDocument) -> Result<VehicleDocument, VehicleError> {
    add_document(&mut yard.store, &yard.clock, &yard.caller, id, command).await
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    vehicle_document_store_contract(&mut MemoryStore::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn a_document_is_kept_with_a_vehicle_that_stays_as_it_is() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let document = add(&mut yard, vehicle.id, a_log_book()).await.unwrap();
    assert_eq!(document.uploaded, at(60));
    assert_eq!(
        serde_json::to_value(VehicleDocumentView::new(&document)).unwrap(),
        json!({
            "id": "1", "name": "V5C.pdf", "description": "", "public": false, "extension": "pdf",
            "mime": "application/pdf", "size": 1_234_567, "size_label": "1.2 MB", "icon": "pdf",
            "uploaded": at(60), "version": 1,
        })
    );
    yard.assert_untouched(&vehicle);
    let business = yard.caller.business_id();
    let name = &document.content.file.name;
    let file = yard.store.file(business, name).await.unwrap().unwrap();
    assert!(!file.public, "documents leave through the API alone");

    let read = read_document(&mut yard.store, &yard.caller, vehicle.id, document.id).await;
    assert_eq!(read.unwrap(), document);
    let page = list_documents(&mut yard.store, &yard.caller, vehicle.id, &PageRequest::first()).await;
    assert_eq!(page.unwrap().items, std::slice::from_ref(&document));

    let gone = delete_document(&mut yard.store, &yard.caller, vehicle.id, document.id).await;
    assert_eq!(gone.unwrap(), std::slice::from_ref(name));
    assert_eq!(yard.store.file(business, name).await.unwrap(), None);
    let again = delete_document(&mut yard.store, &yard.caller, vehicle.id, document.id).await;
    assert_eq!(code(&again.unwrap_err()), "vehicle_document_not_found");
    yard.assert_untouched(&vehicle);
}

#[tokio::test]
async fn a_document_is_of_a_known_kind_and_described_if_it_is_public() {
    let (mut yard, vehicle) = Yard::with(StockType::Customer, json!({})).await;
    for (command, expected) in [
        (
            AddVehicleDocument {
                public: true,
                description: text(" "),
                file: a_file(1, FileKind::Webp),
                filename: Some("x".repeat(256)),
            },
            &["description", "file", "filename"][..],
        ),
        (
            AddVehicleDocument {
                file: a_file(1, FileKind::Mp4),
                ..a_log_book()
            },
            &["file"],
        ),
    ] {
        assert_eq!(faults(add(&mut yard, vehicle.id, command).await), expected);
    }
    for kind in [FileKind::Jpeg, FileKind::Png] {
        let command = AddVehicleDocument {
            filename: None,
            public: true,
            description: text("The log book"),
            file: a_file(1, kind),
        };
        let document = add(&mut yard, vehicle.id, command).await.unwrap();
        let shown = serde_json::to_value(VehicleDocumentView::new(&document)).unwrap();
        let name = format!("document.{}", kind.extension());
        assert_eq!((&shown["name"], &shown["icon"]), (&json!(name), &json!("image")));
    }
}

#[tokio::test]
async fn a_document_stays_described_while_it_is_public() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let document = add(&mut yard, vehicle.id, a_log_book()).await.unwrap();
    let change = |description: Option<&str>, public| UpdateVehicleDocument {
        description: description.map(text),
        public,
    };
    let mut update = async |command, versions: Option<i64>| {
        let precondition = versions.map_or_else(Precondition::default, |number| Precondition::one_of(vec![number]));
        let target = Target {
            id: document.id,
            precondition,
        };
        update_document(&mut yard.store, &yard.caller, vehicle.id, target, command).await
    };
    assert_eq!(faults(update(change(None, Some(true)), None).await), ["description"]);
    let unchanged = update(change(Some(""), Some(false)), None).await.unwrap();
    assert_eq!(unchanged, document);
    let published = update(change(Some("The log book"), Some(true)), Some(1)).await.unwrap();
    assert!(published.content.public);
    assert_eq!(published.version, document.version.next());
    assert_eq!(faults(update(change(Some(""), None), None).await), ["description"]);
    let late = update(change(None, Some(false)), Some(1)).await;
    assert_eq!(code(&late.unwrap_err()), "precondition_failed");
}

#[tokio::test]
async fn documents_go_with_their_vehicle_and_belong_to_no_other() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let document = add(&mut yard, vehicle.id, a_log_book()).await.unwrap();
    let other = yard.create(StockType::InStock, json!({})).await.unwrap();
    let read = read_document(&mut yard.store, &yard.caller, other.id, document.id).await;
    assert_eq!(code(&read.unwrap_err()), "vehicle_document_not_found");
    let unknown = VehicleDocumentId::new(99);
    let change = UpdateVehicleDocument::default();
    let outcome = update_document(&mut yard.store, &yard.caller, vehicle.id, unknown, change).await;
    assert_eq!(code(&outcome.unwrap_err()), "vehicle_document_not_found");

    let gone = yard.delete(vehicle.id).await.unwrap();
    assert_eq!(gone, [document.content.file.name]);
    assert_eq!(yard.store.records.documents().count(), 0);
    for outcome in [
        read_document(&mut yard.store, &yard.caller, vehicle.id, document.id)
            .await
            .err(),
        list_documents(&mut yard.store, &yard.caller, vehicle.id, &PageRequest::first())
            .await
            .err(),
        add(&mut yard, vehicle.id, a_log_book()).await.err(),
    ] {
        assert_eq!(code(&outcome.unwrap()), "vehicle_not_found");
    }
}

#[tokio::test]
async fn a_vehicle_has_so_many_documents_at_most() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    for _ in 0..VehicleDocument::MAX_PER_VEHICLE {
        add(&mut yard, vehicle.id, a_log_book()).await.unwrap();
    }
    assert_eq!(faults(add(&mut yard, vehicle.id, a_log_book()).await), ["file"]);
}
