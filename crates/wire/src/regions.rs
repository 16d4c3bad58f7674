//! Azure's regions by their display names.

/// Where a resource is that does not say. Clients of the old service always said it.
pub(crate) const NOWHERE: &str = "Local";

/// Those of the public cloud until 2022, and of the clouds of governments, Germany and China. A region's short name is
/// its display name in small letters and without blanks.
pub(crate) const REGIONS: [&str; 73] = [
    "Australia Central",
    "Australia Central 2",
    "Australia East",
    "Australia Southeast",
    "Brazil South",
    "Brazil Southeast",
    "Canada Central",
    "Canada East",
    "Central India",
    "Central US",
    "Central US EUAP",
    "China East",
    "China East 2",
    "China East 3",
    "China North",
    "China North 2",
    "China North 3",
    "East Asia",
    "East US",
    "East US 2",
    "East US 2 EUAP",
    "France Central",
    "France South",
    "Germany Central",
    "Germany North",
    "Germany Northeast",
    "Germany West Central",
    "Israel Central",
    "Italy North",
    "Japan East",
    "Japan West",
    "Jio India Central",
    "Jio India West",
    "Korea Central",
    "Korea South",
    "North Central US",
    "North Europe",
    "Norway East",
    "Norway West",
    "Poland Central",
    "Qatar Central",
    "South Africa North",
    "South Africa West",
    "South Central US",
    "South India",
    "Southeast Asia",
    "Spain Central",
    "Sweden Central",
    "Sweden South",
    "Switzerland North",
    "Switzerland West",
    "UAE Central",
    "UAE North",
    "UK North",
    "UK South",
    "UK South 2",
    "UK West",
    "US DoD Central",
    "US DoD East",
    "US Gov Arizona",
    "US Gov Iowa",
    "US Gov Texas",
    "US Gov Virginia",
    "US Nat East",
    "US Nat West",
    "US Sec East",
    "US Sec West",
    "West Central US",
    "West Europe",
    "West India",
    "West US",
    "West US 2",
    "West US 3",
];

/// `westus` becomes `West US` (python_test_scheduler); a place that is no region stays what it is.
pub(crate) fn display_name(location: &str) -> String {
    let short = short_name(location);
    let region = REGIONS.iter().find(|region| short_name(region) == short);
    region.map_or_else(|| location.to_owned(), |region| (*region).to_owned())
}

/// `West US` becomes `westus`.
pub(crate) fn short_name(region: &str) -> String {
    region.replace(' ', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_in_any_spelling() {
        for (given, shown) in [
            ("westus", "West US"),
            ("West US", "West US"),
            ("SOUTHCENTRALUS", "South Central US"),
            ("east us 2", "East US 2"),
            ("uaenorth", "UAE North"),
            ("usgovvirginia", "US Gov Virginia"),
            ("our cellar", "our cellar"),
            ("west-us", "west-us"),
            ("", ""),
        ] {
            assert_eq!(display_name(given), shown, "{given}");
        }
    }

    #[test]
    fn each_region_once_and_sorted() {
        assert!(REGIONS.is_sorted());
        assert!(REGIONS.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
