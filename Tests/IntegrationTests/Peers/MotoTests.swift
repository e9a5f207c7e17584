#if Crypto && TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// Signed requests to moto, an S3 in Python, over both transports.
    @Suite(.requires(.peer(in: "moto.server")), .moto, .timeLimit(.minutes(20)))
    struct MotoTests {
        private let url: URL
        /// A new name, because all tests of the suite have the same server.
        private let bucket = "films-\(UUID().uuidString.lowercased())"
        private let user = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "secret/key+1")
        private let film = ServedFile(byteCount: 300_000).bytes

        init() throws {
            url = try #require(PythonServer.url)
        }

        private func network(
            _ client: Client,
            _ credentials: AWSCredentials? = nil,
            _ options: AWSSigner.Options = AWSSigner.Options(),
            at other: URL? = nil
        ) -> some NetworkingComponent {
            AnyNetworkingComponent(client.makeTransport())
                .timeout(.seconds(30))
                .signed(with: signer(credentials, options))
                .server(baseURL: other ?? url)
        }

        private func signer(
            _ credentials: AWSCredentials? = nil,
            _ options: AWSSigner.Options = AWSSigner.Options()
        ) -> AWSSigner {
            AWSSigner(credentials ?? user, region: "us-east-1", service: "s3", options: options)
        }

        /// Creates the bucket and returns a stack for it.
        @discardableResult
        private func networkWithBucket(_ client: Client) async throws -> some NetworkingComponent {
            let network = network(client)
            #expect(try await network.data(.put("\(bucket)")).status == .ok)
            return network
        }

        // MARK: What the server checks

        /// Shows that the other tests are about signatures.
        @Test(arguments: Client.allCases)
        func refusesAWrongSecret(client: Client) async throws {
            let network = try await networkWithBucket(client)
            try await network.upload(.data(film), to: .put("\(bucket)/film"))
            let forged = AWSCredentials(accessKeyID: user.accessKeyID, secretAccessKey: "secret/key+2")
            let requests: [HTTPRequestData] = [
                .get("\(bucket)/film"), .get("\(bucket)", query: ["list-type": 2]), .delete("\(bucket)/film"),
                .put("\(bucket)/film", body: .data(Data())),
            ]
            for request in requests {
                let response = try await self.network(client, forged).data(request)
                #expect(response.status == .forbidden)
                #expect(response.data.contains("<Code>SignatureDoesNotMatch</Code>"))
            }
            let isUnchanged = try await network.data(.get("\(bucket)/film")).data == film
            #expect(isUnchanged)
        }

        @Test(arguments: Client.allCases)
        func acceptsTheTokenOfARole(client: Client) async throws {
            let (right, wrong) = (role(token: "token/+=1"), role(token: "token/ =1"))
            #expect(try await network(client, right).data(.put("\(bucket)")).status == .ok)
            let response = try await network(client, wrong).data(.get("\(bucket)", query: ["list-type": 2]))
            #expect(response.data.contains("<Code>InvalidToken</Code>"))
        }

        private func role(token: String) -> AWSCredentials {
            AWSCredentials(accessKeyID: "ASIDEXAMPLE", secretAccessKey: "secret/key+2", sessionToken: token)
        }

        // MARK: Objects

        /// The server computes the digest of the body only if the request does not have it.
        @Test(arguments: Client.allCases, [nil, false])
        func storesSignedBodies(client: Client, sendsDigest: Bool?) async throws {
            try await networkWithBucket(client)
            let network = network(client, nil, AWSSigner.Options(sendsPayloadDigest: sendsDigest))
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "film.mov")
                try film.write(to: file)
                for (name, body) in [("data", RequestBody.data(film)), ("file", .file(file))] {
                    try await network.upload(body, to: .put("\(bucket)/\(name)"))
                    let response = try await self.network(client).data(.get("\(bucket)/\(name)"))
                    #expect(response.status == .ok)
                    let isWhole = response.data == film
                    #expect(isWhole, "\(name): \(response.data.count) bytes")
                }
            }
        }

        @Test(arguments: Client.allCases)
        func servesPartsHeadsAndValidation(client: Client) async throws {
            let network = try await networkWithBucket(client)
            try await network.upload(.data(film), to: .put("\(bucket)/film"))

            let part = try await network.data(.get("\(bucket)/film", headers: [.range(bytes: 1_000...1_999)]))
            #expect(part.status == .partialContent)
            #expect(part.data == film[1_000...1_999])

            let head = try await network.data(.head("\(bucket)/film"))
            #expect(head.status == .ok)
            #expect(head.headerFields[.contentLength] == "\(film.count)")
            #expect(head.data.isEmpty)

            let tag: String = try #require(head.headerFields[.eTag])
            let same = try await network.data(.get("\(bucket)/film", headers: [.ifNoneMatch: tag]))
            #expect(same.status == .notModified)
            #expect(same.data.isEmpty)
        }

        @Test(arguments: Client.allCases)
        func escapesKeys(client: Client) async throws {
            let network = try await networkWithBucket(client)
            let (folder, name) = ("Sommer 1+1=ü", "a&b?c#d%20~(e)'*.bin")
            for path in ["\(bucket)/\(folder)/\(name)", "\(bucket)/other/film"] as [RequestPath] {
                try await network.upload(.data(film), to: HTTPRequestData(.put, path))
                let isWhole = try await network.data(HTTPRequestData(.get, path)).data == film
                #expect(isWhole)
            }
            let list = try await network.request(
                .get("\(bucket)?list-type=2&prefix=\(folder + "/")"),
                as: String.self
            )
            #expect(list.contains("<Key>\(folder)/a&amp;b?c#d%20~(e)'*.bin</Key>"), "\(list)")
            #expect(list.contains("<KeyCount>1</KeyCount>"), "\(list)")
        }

        /// S3 puts the target of a request into its canonical form, and this server uses it as it was sent.
        @Test(arguments: Client.allCases)
        func differsFromS3InTargetsThatAreNotCanonical(client: Client) async throws {
            let network = try await networkWithBucket(client)
            let requests: [HTTPRequestData] = [
                .get("\(bucket)/a+b"), .get("\(bucket)/\("a/b")"), .get("\(bucket)", query: ["prefix": "a/b"]),
            ]
            for request in requests {
                let response = try await network.data(request)
                #expect(response.data.contains("<Code>SignatureDoesNotMatch</Code>"), "\(request)")
            }
        }

        @Test(arguments: Client.allCases)
        func reportsADeletedObject(client: Client) async throws {
            let network = try await networkWithBucket(client)
            try await network.upload(.data(film), to: .put("\(bucket)/film"))
            #expect(try await network.data(.delete("\(bucket)/film")).status == .noContent)
            let error = await #expect(throws: NetworkingError.self) {
                try await network.request(.get("\(bucket)/film"), as: Data.self)
            }
            #expect(error?.kind == .status)
            #expect(error?.response?.status == .notFound)
            #expect(error?.bodyText?.contains("<Code>NoSuchKey</Code>") == true, "\(error?.bodyText ?? "no body")")
        }

        // MARK: Links

        /// The server does not check the signature of a link: it serves one request without authentication, and refuses
        /// an URL that is not a link.
        @Test(arguments: Client.allCases)
        func servesALink(client: Client) async throws {
            let network = try await networkWithBucket(client)
            try await network.upload(.data(film), to: .put("\(bucket)/film \(1)"))
            let object = url.appending(path: "\(bucket)/film 1")
            let link = try await signer().presigned(HTTPRequestData(url: object), lifetime: .seconds(600))
            let anonymous = client.makeTransport().timeout(.seconds(30))
            let limit = url.appending(path: "moto-api/reset-auth")
            try await anonymous.upload(.data(Data("1".utf8)), to: HTTPRequestData(.post, limit))
            #expect(try await anonymous.data(HTTPRequestData(url: object)).status == .forbidden)
            let response = try await anonymous.data(HTTPRequestData(url: try #require(link.url)))
            #expect(response.status == .ok)
            let isWhole = response.data == film
            #expect(isWhole, "\(response.data.count) bytes")
        }

        // MARK: Downloads

        /// The cancelled download cannot be complete, because the relay does not pass its last bytes.
        @Test(arguments: Client.allCases)
        func downloadResumesAfterACancellation(client: Client) async throws {
            let long = ServedFile(byteCount: 8 << 20).bytes
            try await networkWithBucket(client)
                .upload(.data(long), to: .put("\(bucket)/film"))
            try await Relay.run(to: try #require(url.port), passing: 4 << 20) { relay in
                let network = network(client, at: URL(string: "http://127.0.0.1:\(relay.port)")!)
                let request = HTTPRequestData.get("\(bucket)/film")
                try await withTemporaryDirectory { directory in
                    let file = directory.appending(path: "film.mov")
                    let running = Mutex<Task<Void, any Error>?>(nil)
                    let gate = Gate()
                    let task = Task {
                        try await gate.wait()
                        // The handler cancels, because the server may end the connection soon after it.
                        try await network.download(request, to: file) { progress in
                            if progress.received.count > 1 << 20 {
                                running.withLock { $0 }?.cancel()
                            }
                        }
                    }
                    running.withLock { $0 = task }
                    gate.open()
                    await #expect(throws: CancellationError.self) { try await task.value }
                    relay.endLimit()
                    let downloaded = try await network.download(request, to: file)
                    #expect(downloaded.resumedByteCount > 1 << 20)
                    #expect(downloaded.response.status == .partialContent)
                    let isWhole = try Data(contentsOf: file) == long
                    #expect(isWhole)
                }
            }
        }
    }
}

extension Data {
    fileprivate func contains(_ text: String) -> Bool {
        String(decoding: self, as: UTF8.self).contains(text)
    }
}
#endif
