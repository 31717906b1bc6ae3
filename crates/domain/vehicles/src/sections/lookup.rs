use forecourt_kernel::Date;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::declare::{FieldValue, Reader, ViewContext, section};
use crate::values::Figure;

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};

section! {
    /// What public registers and other parties know of a vehicle (contract, "data.lookup").
    pub struct Lookup: LookupPatch {
        /// The vehicle licensing register.
        dvla: DvlaRecord, read_only;
        /// The register of MOT tests.
        dvsa: DvsaRecord, read_only;
        /// The provenance check.
        check: ProvenanceCheck, read_only;
    }
}

section! {
    /// What the vehicle licensing register says.
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
        /// Whether it is taxed.
        tax_status: String, read_only;
        /// The day until which it is taxed.
        tax_due_date: Option<Date>, read_only;
        /// Whether its MOT holds.
        mot_status: String, read_only;
        /// The day on which its MOT ends.
        mot_expiry_date: Option<Date>, read_only;
        /// The day on which its registration document was last issued.
        date_of_last_v5c_issued: Option<Date>, read_only;
        /// Type approval.
        type_approval: String, read_only;
        /// Wheelplan.
        wheelplan: String, read_only;
        /// Whether it is marked for export.
        marked_for_export: Option<bool>, read_only;
    }
}

section! {
    /// What the register of MOT tests says.
    pub struct DvsaRecord: DvsaRecordPatch {
        /// Tests, newest first.
        mot_tests: MotTests, read_only;
    }
}

section! {
    /// What the provenance check says.
    pub struct ProvenanceCheck: ProvenanceCheckPatch {
        /// Whether it is stolen.
        stolen: Option<bool>, read_only;
        /// Whether finance is outstanding.
        finance: Option<bool>, read_only;
        /// Whether it was written off.
        written_off: Option<bool>, read_only;
        /// Previous keepers.
        previous_keepers: Option<u32>, read_only;
    }
}

/// An MOT test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MotTest {
    /// When it was completed.
    pub completed_date: String,
    /// PASSED or FAILED.
    pub test_result: String,
    /// What the odometer read.
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
