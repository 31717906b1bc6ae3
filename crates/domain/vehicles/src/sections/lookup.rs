use forecourt_kernel::Date;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::declare::{FieldValue, Reader, ViewContext, section};
use crate::values::Figure;

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};

section! {
    /// Data of public registers and other parties on a vehicle (contract, "data.lookup").
    pub struct Lookup: LookupPatch {
        /// Vehicle licensing register.
        dvla: DvlaRecord, read_only;
        /// Register of MOT tests.
        dvsa: DvsaRecord, read_only;
        /// Provenance check.
        check: ProvenanceCheck, read_only;
    }
}

section! {
    /// The entry of the vehicle licensing register.
    pub struct DvlaRecord: DvlaRecordPatch {
        /// Make.
        make: String, read_only;
        /// Colour.
        colour: String, read_only;
        /// Fuel.
        fuel_type: String, read_only;
        /// Year of make.
        year_of_manufacture: Option<u32>, read_only;
        /// Month of first registration, YYYY-MM.
        month_of_first_registration: String, read_only;
        /// Capacity in cubic centimetres.
        engine_capacity: Option<u32>, read_only;
        /// Emissions of carbon dioxide in grammes per kilometre.
        co2_emissions: Option<Figure>, read_only;
        /// Euro standard.
        euro_status: String, read_only;
        /// Tax status.
        tax_status: String, read_only;
        /// Day until which the vehicle is taxed.
        tax_due_date: Option<Date>, read_only;
        /// MOT status.
        mot_status: String, read_only;
        /// Last day of the MOT.
        mot_expiry_date: Option<Date>, read_only;
        /// Day on which the registration document was last issued.
        date_of_last_v5c_issued: Option<Date>, read_only;
        /// Type approval.
        type_approval: String, read_only;
        /// Wheelplan.
        wheelplan: String, read_only;
        /// `true` if the vehicle is marked for export.
        marked_for_export: Option<bool>, read_only;
    }
}

section! {
    /// The entry of the register of MOT tests.
    pub struct DvsaRecord: DvsaRecordPatch {
        /// Tests, newest first.
        mot_tests: MotTests, read_only;
    }
}

section! {
    /// The result of the provenance check.
    pub struct ProvenanceCheck: ProvenanceCheckPatch {
        /// `true` if the vehicle is stolen.
        stolen: Option<bool>, read_only;
        /// `true` if finance is outstanding.
        finance: Option<bool>, read_only;
        /// `true` if the vehicle was written off.
        written_off: Option<bool>, read_only;
        /// Number of previous keepers.
        previous_keepers: Option<u32>, read_only;
    }
}

/// An MOT test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MotTest {
    /// Time of completion.
    pub completed_date: String,
    /// Result: PASSED or FAILED.
    pub test_result: String,
    /// Reading of the odometer.
    pub odometer_value: String,
}

/// MOT tests, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MotTests(pub Vec<MotTest>);

impl FieldValue for MotTests {
    type Patch = Self;

    fn read(_: &Json, _: &mut Reader<'_>) -> Option<Self> {
        None
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> utoipa::openapi::schema::Schema {
        use utoipa::PartialSchema as _;
        use utoipa::openapi::RefOr;
        match MotTest::schema() {
            RefOr::T(test) => schema::array(test, side).into(),
            RefOr::Ref(_) => schema::array(schema::any_object(side).into(), side).into(),
        }
    }
}
