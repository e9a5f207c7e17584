#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import Testing

/// The examples of RFC 9421.
@Suite(.timeLimit(.minutes(20)))
struct MessageSignatureVectorTests {
    private static let date = MessageComponent.field(.date)
    private static let contentLength = MessageComponent.field(.contentLength)

    // MARK: Appendix B.2

    @Test func hmac() async throws {
        let signer = MessageSigner(
            Vectors.secret,
            keyID: "test-shared-secret",
            components: [Self.date, .authority, .contentType],
            hasNonce: false,
            label: "sig-b25"
        )
        let request = try await Vectors.request.signed(by: signer)
        #expect(
            request.headerFields[.signatureInput]
                == #"sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#
        )
        #expect(request.headerFields[.signature] == "sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:")
        let verifier = MessageVerifier(Vectors.secret, keyID: "test-shared-secret", requiring: [.authority])
        #expect(try await onTheDay { try await verifier.verify(request) }.label == "sig-b25")
    }

    @Test func ed25519() async throws {
        let signer = MessageSigner(
            try Vectors.ed25519,
            keyID: "test-key-ed25519",
            components: [Self.date, .method, .path, .authority, .contentType, Self.contentLength],
            hasNonce: false,
            label: "sig-b26"
        )
        let request = try await Vectors.request.signed(by: signer)
        #expect(
            request.headerFields[.signatureInput]
                == #"sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");"#
                + #"created=1618884473;keyid="test-key-ed25519""#
        )
        #expect(
            request.headerFields[.signature]
                == "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
        )
        let verifier = MessageVerifier(try Vectors.ed25519.publicKey, keyID: nil, requiring: [.method, .path])
        #expect(try await onTheDay { try await verifier.verify(request) }.keyID == "test-key-ed25519")
    }

    @Test func verifiesECDSAOfAResponse() async throws {
        let response = Vectors.response.with(
            #"sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256""#,
            "sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:"
        )
        let key = try Vectors.p256.publicKey
        let verifier = MessageVerifier(key, keyID: "test-key-ecc-p256", requiring: [.status, .contentDigest])
        let signature = try await onTheDay { try await verifier.verify(response, label: "sig-b24") }
        #expect(signature.components == [.status, .contentType, .contentDigest, Self.contentLength])
        #expect(signature.created == Vectors.created)
        #expect(signature.nonce == nil)
    }

    /// The product does not include RSA, so the test brings its own key type.
    @Test(arguments: [
        (
            #"sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#,
            "sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJ"
                + "MkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0"
                + "mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5N"
                + "yt8C8ssinQ98Xw9Q==:"
        ),
        (
            #"sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473"#
                + #";keyid="test-key-rsa-pss";tag="header-example""#,
            "sig-b22=:LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSowOB4"
                + "+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7C"
                + "l+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3"
                + "/XaVe4bXTugEjHSw==:"
        ),
        (
            #"sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length")"#
                + #";created=1618884473;keyid="test-key-rsa-pss""#,
            "sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCU"
                + "b38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CC"
                + "oC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5"
                + "fTIztsDZKEgM4cUA==:"
        ),
    ])
    func verifiesRSAWithACustomKey(input: String, signature: String) async throws {
        let verifier = MessageVerifier(RSAPSSKey(), keyID: "test-key-rsa-pss", requiring: [])
        let verified = try await onTheDay { try await verifier.verify(Vectors.request.with(input, signature)) }
        #expect(verified.keyID == "test-key-rsa-pss")
        await #expect(throws: NetworkingError.self) {
            var request = Vectors.request.with(input, signature)
            request.headerFields[.signatureInput] = input.replacing("created=1618884473", with: "created=1618884474")
            return try await onTheDay { try await verifier.verify(request) }
        }
    }

    // MARK: Section 2.4, appendices B.3 and B.4

    @Test func verifiesAResponseThatCoversItsRequest() async throws {
        let response = HTTPResponseData(
            request: Vectors.request,
            status: .serviceUnavailable,
            headerFields: [
                .contentType: "application/json",
                .contentDigest:
                    "sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg==:",
            ],
            data: Data(#"{"busy": true, "message": "Your call is very important to us"}"#.utf8)
        )
        .with(
            #"reqres=("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";req "content-digest";req)"#
                + #";created=1618884479;keyid="test-key-ecc-p256""#,
            "reqres=:dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag==:"
        )
        let verifier = MessageVerifier(
            try Vectors.p256.publicKey,
            keyID: "test-key-ecc-p256",
            requiring: [.status, .contentDigest, .method.ofRequest, .path.ofRequest, .contentDigest.ofRequest]
        )
        try await onTheDay { try await verifier.verify(response) }
        var other = response
        other.sentRequest.path = "/bar"
        await #expect(throws: NetworkingError.self) { try await onTheDay { try await verifier.verify(other) } }
    }

    @Test func verifiesTheSignatureOfATLSProxy() async throws {
        let certificate =
            ":MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVybWVkaWF0"
            + "ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YnXXfaUgm"
            + "nMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAWgBRm"
            + "3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY2"
            + "9tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1"
            + "yhk=:"
        var request = Vectors.request.with(
            #"ttrp=("@path" "@query" "@method" "@authority" "client-cert");created=1618884473;keyid="test-key-ecc-p256""#,
            "ttrp=:xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==:"
        )
        request.authority = "service.internal.example"
        request.headerFields[HTTPField.Name("Client-Cert")!] = certificate
        let verifier = MessageVerifier(try Vectors.p256.publicKey, keyID: nil, requiring: [.method])
        let sent = request
        try await onTheDay { try await verifier.verify(sent) }
    }

    /// Changes on the path to the server, and whether the signature stays valid.
    @Test(arguments: [
        ("/demo?name1=Value1&Name2=value2", ["application/json", "*/*"], HTTPRequest.Method.get, true),
        ("/demo?name1=Value1&Name2=value2&param=added", ["application/json", "*/*"], .get, true),
        ("/demo?name1=Value1&Name2=value2", ["application/json, */*"], .get, true),
        ("/demo?name1=Value1&Name2=value2", ["application/json, */*"], .post, false),
        ("/demo?name1=Value1&Name2=value2", ["*/*", "application/json"], .get, false),
    ])
    func survivesOnlyHarmlessTransformations(
        target: String,
        accept: [String],
        method: HTTPRequest.Method,
        isGood: Bool
    ) async throws {
        var request = HTTPRequestData(method: method, authority: "example.org", path: target)
            .with(
                #"transform=("@method" "@path" "@authority" "accept");created=1618884473;keyid="test-key-ed25519""#,
                "transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==:"
            )
        request.headerFields[values: .accept] = accept
        let verifier = MessageVerifier(try Vectors.ed25519.publicKey, keyID: nil, requiring: [.authority])
        let sent = request
        let result = await onTheDay { try? await verifier.verify(sent) }
        #expect((result != nil) == isGood)
    }
}
#endif
