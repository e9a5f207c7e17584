import Networking
import TestSupport
import Testing

@Suite(.tags(.memory)) struct SipHashTests {
    /// Results of OpenSSL for the key and the inputs of the reference implementation: 0, 1, 2 and so on.
    @Test(arguments: [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (2, "8177228da4a45dc7fca38bdef60affe4"),
        (3, "9c70b60c5267a94e5f33b6b02985ed51"),
        (7, "a1f1ebbed8dbc153c0b84aa61ff08239"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (9, "264499060ad9baabc47f8b02bb6d71ed"),
        (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
        (16, "6ee2a4ca67b054bbfd3315bf85230577"),
        (31, "2939b0183223fafc1723de4f52c43d35"),
        (63, "5150d1772f50834a503e069a973fbd7c"),
    ])
    func agreesWithTheReference(count: Int, digest: String) throws {
        let key = try #require(CacheDigestKey(bytes: Array(0..<16)))
        #expect(key.digest(of: Array(0..<UInt8(count))) == digest)
    }
}
