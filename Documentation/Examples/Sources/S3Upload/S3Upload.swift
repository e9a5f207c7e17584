import Backend
import Foundation
import Networking
import NetworkingSigning

/// A bucket of S3 or of a compatible service, with requests signed by AWS Signature Version 4.
struct Bucket: Sendable {
    private let network: any NetworkingComponent
    private let signer: AWSSigner
    private let url: URL

    /// The URL of a bucket of AWS is `https://bucket.s3.eu-central-1.amazonaws.com`.
    init(at url: URL, region: String, credentials: AWSCredentials) {
        self.url = url
        signer = AWSSigner(credentials, region: region, service: "s3")
        network = URLSession.shared
            .timeout(head: .seconds(30), idle: .seconds(30))
            // Inside of `retry`, so that each attempt has a signature with the current time.
            .signed(with: signer)
            .retry()
            .server(baseURL: url)
    }

    /// Uploads a file, which is read from disk while it is sent.
    func upload(
        _ file: URL,
        as name: String,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws {
        let request = HTTPRequestData.put("photos/\(name)")
        try await network.upload(.file(file), to: request, progress: progress)
    }

    func download(_ name: String) async throws -> Data {
        try await network.request(.get("photos/\(name)"), as: Data.self)
    }

    /// Returns a link with which anyone can download a file for ten minutes.
    func link(to name: String) async throws -> URL? {
        let request = HTTPRequestData(url: url.appending(path: "photos/\(name)"))
        return try await signer.presigned(request, lifetime: .seconds(600)).url
    }
}

@main
enum S3Upload {
    static func main() async {
        let secret = "example-secret"
        await withBackend(S3Service(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret)) { server in
            try await withTemporaryDirectory { directory in
                let photo = Data(repeating: 0x5A, count: 300_000)
                let file = directory.appending(path: "photo.jpg")
                try photo.write(to: file)

                let bucket = Bucket(
                    at: server.url,
                    region: "eu-central-1",
                    credentials: AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret)
                )
                try await bucket.upload(file, as: "Summer 2026.jpg") { progress in
                    print("  \(Int(progress.fraction * 100)) % sent")
                }
                let copy = try await bucket.download("Summer 2026.jpg")
                print("Uploaded \(photo.count) bytes and downloaded \(copy.count).")
                expect(copy == photo, "the bucket has the photo")

                if let link = try await bucket.link(to: "Summer 2026.jpg") {
                    // Without credentials: the signature is in the link.
                    let response = try await URLSession.shared.data(HTTPRequestData(url: link))
                    print("The link works for anyone: \(response.status)")
                    expect(response.data == photo, "the link leads to the photo")
                }

                let forger = Bucket(
                    at: server.url,
                    region: "eu-central-1",
                    credentials: AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "another-secret")
                )
                do {
                    _ = try await forger.download("Summer 2026.jpg")
                    expect(false, "a wrong secret is refused")
                } catch let error as NetworkingError where error.kind == .status {
                    print("With a wrong secret: \(error.bodyText ?? "no reason")")
                    expect(error.bodyText?.contains("SignatureDoesNotMatch") == true, "the signature is checked")
                }
            }
        }
    }
}
