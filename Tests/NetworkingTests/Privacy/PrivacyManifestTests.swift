import Foundation
import Testing

/// Compares the privacy manifest with the sources: a category is declared exactly if one of its APIs is called.
///
/// The test knows the names in Apple's list of APIs that need a reason, and equivalent APIs.
@Suite
struct PrivacyManifestTests {
    private static let sources = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources")

    private static let names: [String: Set<String>] = [
        "NSPrivacyAccessedAPICategoryFileTimestamp": [
            "stat", "fstat", "lstat", "fstatat", "getattrlist", "fgetattrlist", "getattrlistat", "getattrlistbulk",
            "creationDate", "creationDateKey", "modificationDate", "fileModificationDate", "contentModificationDate",
            "contentModificationDateKey",
        ],
        "NSPrivacyAccessedAPICategoryDiskSpace": [
            "statfs", "fstatfs", "statvfs", "fstatvfs", "systemSize", "systemFreeSize", "volumeTotalCapacity",
            "volumeTotalCapacityKey", "volumeAvailableCapacity", "volumeAvailableCapacityKey",
            "volumeAvailableCapacityForImportantUsage", "volumeAvailableCapacityForImportantUsageKey",
            "volumeAvailableCapacityForOpportunisticUsage", "volumeAvailableCapacityForOpportunisticUsageKey",
        ],
        "NSPrivacyAccessedAPICategorySystemBootTime": [
            "systemUptime", "mach_absolute_time", "mach_continuous_time", "clock_gettime", "clock_gettime_nsec_np",
            "boottime",
        ],
        "NSPrivacyAccessedAPICategoryActiveKeyboards": ["activeInputModes"],
        "NSPrivacyAccessedAPICategoryUserDefaults": ["UserDefaults", "NSUserDefaults", "AppStorage"],
    ]

    private struct Manifest: Decodable {
        let isTracking: Bool
        let trackingDomains: [String]
        let collectedDataTypes: [[String: String]]
        let categories: [Category]

        enum CodingKeys: String, CodingKey {
            case isTracking = "NSPrivacyTracking"
            case trackingDomains = "NSPrivacyTrackingDomains"
            case collectedDataTypes = "NSPrivacyCollectedDataTypes"
            case categories = "NSPrivacyAccessedAPITypes"
        }

        struct Category: Decodable {
            let name: String
            let reasons: [String]

            enum CodingKeys: String, CodingKey {
                case name = "NSPrivacyAccessedAPIType"
                case reasons = "NSPrivacyAccessedAPITypeReasons"
            }
        }
    }

    private func manifest() throws -> Manifest {
        let file = Self.sources.appending(path: "NetworkingPrivacy/PrivacyInfo.xcprivacy")
        return try PropertyListDecoder().decode(Manifest.self, from: Data(contentsOf: file))
    }

    @Test func declaresTheAPIsThatTheSourcesCall() throws {
        let declared = try manifest().categories.map(\.name)
        let words = try Self.words()
        let used = Self.names.filter { !words.isDisjoint(with: $0.value) }
        #expect(declared.sorted() == used.keys.sorted())
    }

    /// Apple defines the reasons for each category.
    ///
    /// The library neither displays nor sends times or sizes.
    @Test func declaresReasonsOfItsCategories() throws {
        let reasons = try manifest().categories.map { ($0.name, $0.reasons) }
        #expect(
            Dictionary(uniqueKeysWithValues: reasons) == [
                "NSPrivacyAccessedAPICategoryFileTimestamp": ["C617.1", "3B52.1"],
                "NSPrivacyAccessedAPICategoryDiskSpace": ["E174.1"],
                "NSPrivacyAccessedAPICategorySystemBootTime": ["35F9.1"],
            ]
        )
    }

    @Test func declaresNoTrackingAndNoCollectedData() throws {
        let manifest = try manifest()
        #expect(!manifest.isTracking)
        #expect(manifest.trackingDomains.isEmpty)
        #expect(manifest.collectedDataTypes.isEmpty)
    }

    /// Returns the words of the sources without comment lines.
    private static func words() throws -> Set<String> {
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var words: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let lines = [UInt8](try Data(contentsOf: file)).split(separator: UInt8(ascii: "\n"))
            for line in lines where !line.drop(while: { $0 == UInt8(ascii: " ") }).starts(with: "//".utf8) {
                words.formUnion(line.split { !isOfWord($0) }.map { String(decoding: $0, as: UTF8.self) })
            }
        }
        return words
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            false
        }
    }
}
