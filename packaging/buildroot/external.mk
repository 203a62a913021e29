include $(sort $(wildcard $(BR2_EXTERNAL_DVNN_PATH)/package/*/*.mk))
