#if SecureTestServer
// Made by Tests/Certificates/loopback.
extension TestServer.TLS {
    /// The certificate of the authority that issued the certificate of ``loopback``, in PEM.
    ///
    /// The client under test must trust it. Its private key was deleted, so it cannot issue another certificate.
    public static let loopbackAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBujCCAWCgAwIBAgIUVd/xTpRy8KKrlQyeOzsFkxtAb7IwCgYIKoZIzj0EAwIw
        OjEZMBcGA1UECgwQc3dpZnQtbmV0d29ya2luZzEdMBsGA1UEAwwUVGVzdFNlcnZl
        ciBhdXRob3JpdHkwIBcNMTkwMTAxMDAwMDAwWhgPMjExOTAxMDEwMDAwMDBaMDox
        GTAXBgNVBAoMEHN3aWZ0LW5ldHdvcmtpbmcxHTAbBgNVBAMMFFRlc3RTZXJ2ZXIg
        YXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEe17uUFgq6zlcYAO6
        +E+hgjbvbf8jSs6iD4tyKFWPgVEMN6L5d6kcFCI4tksZcCPcyHBm4uxfTNPoLOEb
        BQQJp6NCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0O
        BBYEFANX7YVUJSpvpd5uDNXHSxPNT8XtMAoGCCqGSM49BAMCA0gAMEUCIQCJpBUD
        WKKIgY9BnqdfepQ5uv7cdkx3JrteqRypZTGJwAIgU+CjIAwTIXak26gEsiuDzMS7
        tVHvFj9bUEtcc2DwwO8=
        -----END CERTIFICATE-----
        """

    static let loopbackCertificate = """
        -----BEGIN CERTIFICATE-----
        MIICGjCCAcCgAwIBAgIUHgO6bA+Ilq5xSLoNwi9dFzApgYowCgYIKoZIzj0EAwIw
        OjEZMBcGA1UECgwQc3dpZnQtbmV0d29ya2luZzEdMBsGA1UEAwwUVGVzdFNlcnZl
        ciBhdXRob3JpdHkwIBcNMTkwMTAxMDAwMDAwWhgPMjExOTAxMDEwMDAwMDBaMDcx
        GTAXBgNVBAoMEHN3aWZ0LW5ldHdvcmtpbmcxGjAYBgNVBAMMEVRlc3RTZXJ2ZXIg
        c2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEA9ADfRjp8cdr+k8akyn0
        0ufXsdSYWDTpZD/uf9OCvK1cl5kfYJG6Ht07lTvXYa+063TAA5foUrOwM/59PSWv
        GKOBpDCBoTAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAK
        BggrBgEFBQcDATAdBgNVHQ4EFgQUk2i6rFCcDqCqP+PmnnCrQz7VojUwHwYDVR0j
        BBgwFoAUA1fthVQlKm+l3m4M1cdLE81Pxe0wLAYDVR0RBCUwI4cEfwAAAYcQAAAA
        AAAAAAAAAAAAAAAAAYIJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gAMEUCIBRs83iG
        vpRLfFMFfqQ3oJAey2mLVwTGumUs7ZEp7WLLAiEAgLH6unMT2n8CeMKQCLPPjNyJ
        TIIbfrW/LqBJj+CX8gc=
        -----END CERTIFICATE-----
        """

    /// A key for tests: it is public, and protects nothing.
    static let loopbackPrivateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6MDRKtsZ8U2eklGN
        ZQDL8a7WU05m2AOaYGAaZMZAr4uhRANCAAQD0AN9GOnxx2v6TxqTKfTS59ex1JhY
        NOlkP+5/04K8rVyXmR9gkboe3TuVO9dhr7TrdMADl+hSs7Az/n09Ja8Y
        -----END PRIVATE KEY-----
        """
}
#endif
