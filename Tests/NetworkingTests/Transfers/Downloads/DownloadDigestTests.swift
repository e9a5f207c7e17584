#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Downloads from a server that states a digest of the file.
@Suite(.timeLimit(.minutes(20)))
struct DownloadDigestTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private static let wrong = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"
    private static let right = "sha-256=:\(Data(SHA256.hash(data: bytes)).base64EncodedString()):"

    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)

    private func fields(_ digest: String?) throws -> HTTPFields {
        var fields: HTTPFields = [.eTag: "\"1\""]
        fields[try #require(HTTPField.Name("Repr-Digest"))] = digest
        return fields
    }

    /// Downloads to a new directory, and returns the kind of the error and the names of the files that are left.
    private func outcome(
        _ origin: FileOrigin,
        _ request: HTTPRequestData? = nil,
        digest: DownloadOptions.DigestCheck? = nil
    ) async throws -> (kind: NetworkingError.Kind?, files: [String]) {
        try await withTemporaryDirectory { directory in
            var options = DownloadOptions()
            if let digest { options.digest = digest }
            var kind: NetworkingError.Kind?
            do {
                let place = directory.appending(path: "film")
                try await origin.download(request ?? self.request, to: place, options: options)
            } catch let error as NetworkingError {
                kind = error.kind
            }
            return (kind, try FileManager.default.contentsOfDirectory(atPath: directory.path))
        }
    }

    @Test func fileWithAnotherDigestIsRemoved() async throws {
        let result = try await outcome(FileOrigin(Self.bytes, fields(Self.wrong)))
        #expect(result.kind == .checksumMismatch)
        #expect(result.files == [])
    }

    @Test func fileWithItsDigestGetsItsName() async throws {
        let origin = FileOrigin(Self.bytes, try fields("unknown=:AA==:, \(Self.right)"))
        let result = try await outcome(origin, digest: .required)
        #expect(result.kind == nil)
        #expect(result.files == ["film"])
        let asked = origin.requests.map { $0.headerFields[HTTPField.Name("Want-Repr-Digest")!] }
        #expect(asked == ["sha-256=10, sha-512=9"])
    }

    /// The digest of a part is that of the whole.
    @Test(arguments: [(right, NetworkingError.Kind?.none), (wrong, .checksumMismatch)])
    func digestCoversTheWholeFileAfterAResumption(digest: String, expected: NetworkingError.Kind?) async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, try fields(digest), .breaks(after: 50))
            let network = origin.verifiedDigests(isRequired: true)
            await #expect(throws: NetworkingError.self) { try await network.download(request, to: place) }
            var kind: NetworkingError.Kind?
            do {
                try await network.download(request, to: place)
            } catch let error as NetworkingError {
                kind = error.kind
            }
            #expect(kind == expected)
            #expect(origin.ranges == [nil, "bytes=50-"])
        }
    }

    @Test func missingAndMalformedDigestsFailOnlyIfRequired() async throws {
        for digest in [nil, "", "md5=:AA==:", "sha-256=1", "=:"] {
            #expect(try await outcome(FileOrigin(Self.bytes, fields(digest))).kind == nil)
            let required = try await outcome(FileOrigin(Self.bytes, fields(digest)), digest: .required)
            #expect(required.kind == .invalidResponse)
        }
    }

    @Test func checkCanBeTurnedOff() async throws {
        let origin = FileOrigin(Self.bytes, try fields(Self.wrong))
        #expect(try await outcome(origin, digest: .ignored).kind == nil)
        var coded = request
        coded.headerFields[.acceptEncoding] = "gzip"
        #expect(try await outcome(origin, coded).kind == nil)
        var part = request
        part.headerFields[.range] = "bytes=10-"
        #expect(try await outcome(origin, part).kind == nil)
    }
}
#endif
