import Networking
import Testing

@Suite
struct TraceParentTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"

    /// The valid fields of W3C Trace Context, Level 2, sections 3.2.2 and 4.3.
    @Test(arguments: [
        ("00-\(trace)-\(parent)-00", "00-\(trace)-\(parent)-00"),
        ("00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01"),
        ("00-\(trace)-\(parent)-02", "00-\(trace)-\(parent)-02"),
        ("00-\(trace)-\(parent)-03", "00-\(trace)-\(parent)-03"),
        // Undefined flags are sent as zero.
        ("00-\(trace)-\(parent)-ff", "00-\(trace)-\(parent)-03"),
        ("00-\(trace)-\(parent)-fc", "00-\(trace)-\(parent)-00"),
        // A field of a later version, with or without more parts, is sent as version 00.
        ("01-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01"),
        ("cc-\(trace)-\(parent)-01-what-the-future-will-be-like", "00-\(trace)-\(parent)-01"),
        ("cc-\(trace)-\(parent)-01-", "00-\(trace)-\(parent)-01"),
        ("fe-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01"),
        // Leading zeros are digits too.
        (
            "00-00000000000000000000000000000001-0000000000000001-00",
            "00-\(String(repeating: "0", count: 31))1-\(String(repeating: "0", count: 15))1-00"
        ),
    ])
    func valid(text: String, passedOn: String) {
        #expect(TraceParent(text)?.description == passedOn)
    }

    @Test(arguments: [
        "", "00", "-", "00-\(trace)", "00-\(trace)-\(parent)",
        // Version ff and text that is no hexadecimal number are invalid.
        "ff-\(trace)-\(parent)-01", "0g-\(trace)-\(parent)-01", ".0-\(trace)-\(parent)-01", "FE-\(trace)-\(parent)-01",
        // Version 00 has exactly four parts.
        "00-\(trace)-\(parent)-01-", "00-\(trace)-\(parent)-01-more", "00-\(trace)-\(parent)-01.",
        "00-\(trace)-\(parent)-011",
        "00-\(trace)-\(parent)-1", "00-\(trace)-\(parent)-", "0-\(trace)-\(parent)-01", "000-\(trace)-\(parent)-01",
        // In a later version, additional text starts with a dash.
        "cc-\(trace)-\(parent)-01.what-the-future", "cc-\(trace)-\(parent)-011", "cc-\(trace)-\(parent)-0",
        // An ID of zeros is invalid.
        "00-00000000000000000000000000000000-\(parent)-01", "00-\(trace)-0000000000000000-01",
        // Only lower case is valid.
        "00-\(trace.uppercased())-\(parent)-01", "00-\(trace)-\(parent.uppercased())-01", "00-\(trace)-\(parent)-0A",
        // IDs with another character, too short and too long.
        "00-.\(trace.dropFirst())-\(parent)-01", "00-\(trace.dropFirst())-\(parent)-01", "00-\(trace)0-\(parent)-01",
        "00-\(trace)-.\(parent.dropFirst())-01", "00-\(trace)-\(parent.dropFirst())-01", "00-\(trace)-\(parent)0-01",
        "00-\(trace)-\(parent)-.0", "00-\(trace)-\(parent)-0é", "00_\(trace)_\(parent)_01", " 00-\(trace)-\(parent)-01",
        "00-\(trace)-\(parent)-01 ", "00-\(trace)-\(parent)-01, 00-\(trace)-\(parent)-01",
    ])
    func invalid(text: String) {
        #expect(TraceParent(text) == nil)
    }

    @Test func readsAllParts() throws {
        let parent = try #require(TraceParent("00-\(Self.trace)-\(Self.parent)-03"))
        #expect(parent.traceID.description == Self.trace)
        #expect(parent.parentID.description == Self.parent)
        #expect(parent.traceID == TraceParent.TraceID(high: 0x0af7_6519_16cd_43dd, low: 0x8448_eb21_1c80_319c))
        #expect(parent.parentID == TraceParent.ParentID(bytes: 0xb7ad_6b71_6920_3331))
        #expect(parent.flags == [.sampled, .randomTraceID])
        #expect(parent.isSampled)
        #expect(TraceParent("00-\(Self.trace)-\(Self.parent)-02")?.isSampled == false)
    }

    @Test func readsIDsWithoutAField() {
        #expect(TraceParent.TraceID(Self.trace)?.description == Self.trace)
        #expect(TraceParent.ParentID(Self.parent)?.description == Self.parent)
        #expect(TraceParent.TraceID(String(repeating: "0", count: 32)) == nil)
        #expect(TraceParent.TraceID(Self.trace.uppercased()) == nil)
        #expect(TraceParent.TraceID(Self.trace + "0") == nil)
        #expect(TraceParent.TraceID(high: 0, low: 0) == nil)
        #expect(TraceParent.ParentID(String(repeating: "0", count: 16)) == nil)
        #expect(TraceParent.ParentID("\(Self.parent)0") == nil)
        #expect(TraceParent.ParentID(bytes: 0) == nil)
    }
}
