// This target only carries PrivacyInfo.xcprivacy into apps for Apple's platforms.
//
// A resource of the target Networking itself would make the build add code to it that imports Foundation, on Linux too.
