import NetworkingCore

extension UserText {
    /// The texts of this module's errors.
    static let cookies = [damagedCookies, unusableCookies]

    static let damagedCookies = UserText(
        key: "cookies.damaged",
        description: "The saved cookies could not be read.",
        reason: "The file of the cookies is damaged.",
        suggestion: "Sign in again where you have been signed out."
    )
    static let unusableCookies = UserText(
        key: "cookies.unusable",
        description: "The cookies could not be read or saved.",
        reason: "The file of the cookies is protected, or there is not enough free space.",
        suggestion: "Check the free space on this device and try again."
    )
}
