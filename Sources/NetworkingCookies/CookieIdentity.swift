/// The identity of the cookies of one owner, which represents the user in principals.
///
/// It stays the same while servers change, remove and set cookies, and when the app is restarted. When the app removes
/// cookies, a new identity replaces it, and the former one is never used again.
struct CookieIdentity: Sendable, Hashable, Codable {
    /// The identity for all sites that have no other.
    private var id: String
    /// The identities of the sites for which the app has removed cookies.
    private var sites: [String: String] = [:]

    /// The maximum number of sites with an identity of their own.
    static let maximumSiteCount = 100

    init(_ id: String) {
        self.id = id
    }

    /// Returns the identity of the cookies of a site.
    func text(for site: String) -> String {
        sites[site] ?? id
    }

    /// Replaces the identities that a removal of cookies at a host concerns.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - site: Its site; `nil` if the host is a public suffix, which has many sites below it.
    ///   - knownSites: The sites with cookies.
    ///   - id: An identity that was never used.
    mutating func renew(for host: String, site: String?, knownSites: [String], id: String) {
        guard let site else {
            self = CookieIdentity(id)
            return
        }
        let lower = (knownSites + sites.keys).filter { CookieURL.host($0, isWithin: host) }
        for site in lower + [site] {
            sites[site] = id
        }
        if sites.count > Self.maximumSiteCount {
            self = CookieIdentity(id)
        }
    }
}
