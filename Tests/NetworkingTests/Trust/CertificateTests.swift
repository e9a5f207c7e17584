import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingTrust

@Suite struct CertificateTests {
    /// Vectors of FIPS 180-4, and lengths around the end of a block.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func hashesAsTheStandardSays(text: String, digest: String) {
        let hex = SHA256Digest.of(text.utf8).map { String(format: "%02x", $0) }.joined()
        #expect(hex == digest)
    }

    @Test(arguments: ["trusted", "rotated", "authority"])
    func publicKeyPinIsThatOfOpenSSL(name: String) throws {
        let certificate = try #require(try Certificate.contents(of: TrustSamples.url("\(name).pem")).first)
        let pin = try String(contentsOf: TrustSamples.url("\(name).pin"), encoding: .utf8)
        #expect("\(certificate.publicKeyPin)\n" == pin)
        #expect(certificate.certificatePin != certificate.publicKeyPin)
        #expect("\(certificate)" == "Certificate(\(certificate.publicKeyPin))")
    }

    @Test func readsDERAndPEM() throws {
        let fromPEM = try TrustSamples.certificate("trusted")
        #expect(try Certificate(der: fromPEM.der) == fromPEM)
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).cer")
        try fromPEM.der.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(try Certificate.contents(of: url) == [fromPEM])
        let both = try Certificate.contents(of: TrustSamples.url("chained.pem"))
        #expect(both.count == 3)
        let carriageReturns = try TrustSamples.text("chained.pem").replacing("\n", with: "\r\n")
        #expect(try Certificate.pem(carriageReturns) == both)
    }

    @Test func readsBundledFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).bundle")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = try TrustSamples.certificate("trusted")
        try certificate.der.write(to: folder.appending(path: "api.cer"))
        #if canImport(Darwin) || URLSession
        let bundle = try #require(Bundle(path: folder.path))
        #expect(try Certificate.bundled("api", in: bundle) == [certificate])
        #expect(throws: ServerTrustError.self) { try Certificate.bundled("other", in: bundle) }
        #endif
    }

    @Test func refusesFilesThatAreNoCertificate() throws {
        #expect(throws: ServerTrustError.self) { try Certificate.contents(of: URL(filePath: "/does/not/exist.pem")) }
        let error = #expect(throws: ServerTrustError.self) {
            try Certificate.contents(of: TrustSamples.url("trusted.key"))
        }
        #expect(error?.reason == "The file trusted.key has no usable certificate. The PEM text has no certificate.")
        #expect("\(try #require(error))" == error?.reason)
        #expect(ServerTrustError("reason").reason == "reason")
    }

    @Test(arguments: [
        "", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
    ])
    func refusesInvalidPEM(text: String) {
        #expect(throws: ServerTrustError.self) { try Certificate.pem(text) }
    }

    @Test func boundsTheSizeOfWhatItReads() throws {
        #expect(throws: ServerTrustError.self) { try Certificate.pem(String(repeating: " ", count: 4 << 20) + "\n") }
        #expect(throws: ServerTrustError.self) { try Certificate(der: Data(count: 1 << 20)) }
        let one = try TrustSamples.text("trusted.pem")
        #expect(throws: ServerTrustError.self) { try Certificate.pem(String(repeating: one, count: 1_001)) }
    }

    /// Each byte of a certificate is cut off or changed; a length may become too large, negative or nested.
    @Test func damagedDERIsRefusedOrReadWithoutTrap() throws {
        let der = [UInt8](try TrustSamples.certificate("trusted").der)
        for count in 0..<der.count {
            #expect(throws: ServerTrustError.self) { try Certificate(der: Data(der.prefix(count))) }
        }
        for index in der.indices {
            for byte: UInt8 in [0x00, 0x30, 0x7f, 0x80, 0x84, 0x88, 0xff] {
                var damaged = der
                damaged[index] = byte
                _ = try? Certificate(der: Data(damaged))
            }
        }
        #expect(throws: ServerTrustError.self) { try Certificate(der: Data(der + [0])) }
    }

    @Test func dataThatIsASliceIsRead() throws {
        let certificate = try TrustSamples.certificate("trusted")
        #expect(try Certificate(der: (Data([1, 2]) + certificate.der).dropFirst(2)) == certificate)
    }
}

/// The files of `Tests/Certificates`.
enum TrustSamples {
    static func url(_ name: String) -> URL {
        URL(filePath: #filePath).appending(path: "../../../Certificates/\(name)").standardized
    }

    static func text(_ name: String) throws -> String {
        try String(contentsOf: url(name), encoding: .utf8)
    }

    static func certificate(_ name: String) throws -> Certificate {
        try #require(try Certificate.contents(of: url("\(name).pem")).first)
    }
}
